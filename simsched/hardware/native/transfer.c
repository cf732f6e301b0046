#include "transfer.h"

#include "clock.h"
#include "memory.h"
#include "team.h"

typedef struct {
    int64_t n_items;
    int32_t n_rounds;
    int64_t *round_ns;
    double *items; /* of the first member, for both */
} bench_t;

static void update(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = a[i] * 0.5 + 1.0;
}

static int transfer_member(hw_team_t *team, int32_t number, void *shared)
{
    bench_t *bench = shared;
    size_t bytes = (size_t)bench->n_items * sizeof(double);
    int status = HW_OK;
    if (number == 0) {
        bench->items = hw_pages_new(bytes);
        status = bench->items == NULL ? HW_ERR_MEMORY : HW_OK;
        if (status == HW_OK)
            hw_pages_touch(bench->items, bytes);
    }
    status = hw_team_meet(team, status);
    for (int32_t round = 0; status == HW_OK && round < bench->n_rounds; round++) {
        if (number == 1)
            update(bench->items, bench->n_items);
        hw_team_meet(team, HW_OK);
        if (number == 0) {
            int64_t begin = hw_monotonic_ns();
            update(bench->items, bench->n_items);
            bench->round_ns[round] = hw_monotonic_ns() - begin;
        }
        hw_team_meet(team, HW_OK);
    }
    if (number == 0 && bench->items != NULL)
        hw_pages_free(bench->items, bytes);
    return status;
}

int hw_transfer_measure(int32_t cpu, int32_t other, int64_t n_items, int32_t n_rounds, int64_t *round_ns)
{
    bench_t bench = {.n_items = n_items, .n_rounds = n_rounds, .round_ns = round_ns};
    const int32_t cpus[] = {cpu, other};
    return hw_team_run(cpus, 2, transfer_member, &bench);
}

#include "transfer.h"

#include "clock.h"
#include "memory.h"
#include "team.h"

typedef struct {
    int64_t n_items;
    int32_t n_rounds;
    int64_t *round_ns;
    double *items[2]; /* allocated by either member */
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
    double *own = hw_pages_new(bytes);
    if (own != NULL)
        hw_pages_touch(own, bytes);
    bench->items[number] = own;
    int status = hw_team_meet(team, own == NULL ? HW_ERR_MEMORY : HW_OK);
    /* Before round 0, which is the first that is timed, either member updates its own array. */
    for (int32_t round = -1; status == HW_OK && round < bench->n_rounds; round++) {
        hw_team_meet(team, HW_OK);
        int64_t begin = hw_monotonic_ns();
        update(bench->items[(number + round + 1) % 2], bench->n_items);
        if (number == 0 && round >= 0)
            bench->round_ns[round] = hw_monotonic_ns() - begin;
    }
    hw_team_meet(team, HW_OK); /* nobody uses the other's array any more */
    if (own != NULL)
        hw_pages_free(own, bytes);
    return status;
}

int hw_transfer_measure(int32_t cpu, int32_t other, int64_t n_items, int32_t n_rounds, int64_t *round_ns)
{
    bench_t bench = {.n_items = n_items, .n_rounds = n_rounds, .round_ns = round_ns};
    const int32_t cpus[] = {cpu, other};
    return hw_team_run(cpus, 2, transfer_member, &bench);
}

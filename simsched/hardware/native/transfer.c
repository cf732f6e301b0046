/*
 * What a core pays for data that another core has in its cache, too.
 *
 * Two threads read a filler each, update an array each in place and then do, in turn, what the kind says; the last step
 * is timed. All lines of the arrays are in the caches of the two, as far as these are large enough, and what comes has to
 * displace a filler as large as the cache, as it has to displace other data in a program. Both threads do the same at a
 * time, so that as much is fetched from a core as by it.
 *
 * Invariant: an array is written by one thread at a time, and only while the other one does not touch it.
 */
#include "clock.h"
#include "memory.h"
#include "probes.h"
#include "team.h"

typedef struct {
    hw_transfer_kind_t kind;
    int64_t n_items;
    int64_t n_filler;
    int32_t n_rounds;
    int64_t *round_ns;
    double *items[2];   /* allocated by either member */
    _Alignas(HW_LINE) double sink[2]; /* kept, so that no loop is left out */
} bench_t;

static void update(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = a[i] * 0.5 + 1.0;
}

static void overwrite(double *a, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = value;
}

/* Several sums, since the order of additions is not the compiler's to change. */
static double sum(const double *a, int64_t n)
{
    double part[8] = {0.0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            part[k] += a[i + k];
    for (; i < n; i++)
        part[0] += a[i];
    for (int k = 1; k < 8; k++)
        part[0] += part[k];
    return part[0];
}

static void timed_step(bench_t *bench, int32_t number)
{
    double *own = bench->items[number], *others = bench->items[1 - number];
    switch (bench->kind) {
    case HW_TRANSFER_READ:
        bench->sink[number] += sum(others, bench->n_items);
        break;
    case HW_TRANSFER_OVERWRITE:
        overwrite(others, bench->n_items, 1.0);
        break;
    case HW_TRANSFER_OWN_READ:
        bench->sink[number] += sum(own, bench->n_items);
        break;
    case HW_TRANSFER_OWN_OVERWRITE:
        overwrite(own, bench->n_items, 1.0);
        break;
    default:
        update(own, bench->n_items);
    }
}

static int transfer_member(hw_team_t *team, int32_t number, void *shared)
{
    bench_t *bench = shared;
    size_t bytes = (size_t)(bench->n_items + bench->n_filler) * sizeof(double);
    double *own = hw_pages_new(bytes);
    const double *filler = own == NULL ? NULL : own + bench->n_items;
    if (own != NULL)
        hw_pages_touch(own, bytes);
    bench->items[number] = own;
    int status = hw_team_meet(team, own == NULL ? HW_ERR_MEMORY : HW_OK);
    for (int32_t round = 0; status == HW_OK && round < bench->n_rounds; round++) {
        bench->sink[number] += sum(filler, bench->n_filler);
        update(own, bench->n_items);
        hw_team_meet(team, HW_OK);
        if (bench->kind == HW_TRANSFER_UPGRADE)
            bench->sink[number] += sum(bench->items[1 - number], bench->n_items);
        hw_team_meet(team, HW_OK);
        int64_t begin = hw_monotonic_ns();
        timed_step(bench, number);
        if (number == 0)
            bench->round_ns[round] = hw_monotonic_ns() - begin;
        hw_team_meet(team, HW_OK); /* nobody uses the other's array any more */
    }
    if (own != NULL)
        hw_pages_free(own, bytes);
    return status;
}

int hw_transfer_measure(hw_transfer_kind_t kind, int32_t cpu, int32_t other, int64_t n_items, int64_t n_filler,
                        int32_t n_rounds, int64_t *round_ns)
{
    bench_t bench = {
        .kind = kind, .n_items = n_items, .n_filler = n_filler, .n_rounds = n_rounds, .round_ns = round_ns};
    const int32_t cpus[] = {cpu, other};
    return hw_team_run(cpus, 2, transfer_member, &bench);
}

#include "latency.h"

#include "bandwidth.h"
#include "clock.h"
#include "memory.h"
#include "team.h"

typedef struct {
    const hw_chase_t *chase;
    int64_t *round_ns;
    const void *volatile sink; /* kept, so that no step is left out */
    _Alignas(HW_LINE) _Atomic bool is_over;
} bench_t;

/* A random number below n: splitmix64, and the high half of a product. */
static int64_t draw(uint64_t *state, int64_t n)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)(((z >> 33) * (uint64_t)n) >> 31);
}

void hw_chase_link(hw_chase_line_t *lines, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        lines[i].next = &lines[i];
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t other = draw(&seed, i);
        hw_chase_line_t *next = lines[i].next;
        lines[i].next = lines[other].next;
        lines[other].next = next;
    }
}

static const hw_chase_line_t *follow(const hw_chase_line_t *line, int64_t n_steps)
{
    for (int64_t i = 0; i < n_steps; i++)
        line = line->next;
    return line;
}

static void chase_rounds(bench_t *bench, hw_chase_line_t *lines)
{
    const hw_chase_t *chase = bench->chase;
    const hw_chase_line_t *line = follow(lines, chase->n_warm);
    for (int32_t round = 0; round < chase->n_rounds; round++) {
        int64_t begin = hw_monotonic_ns();
        line = follow(line, chase->n_steps);
        bench->sink = line;
        bench->round_ns[round] = hw_monotonic_ns() - begin;
    }
    atomic_store_explicit(&bench->is_over, true, memory_order_relaxed); /* only has to be noticed some time */
}

/* Writes pages of its own until whatever was cached is not any more; a new page is zeroed, which is a write too. */
static int evict(int64_t bytes)
{
    void *pages = hw_pages_new((size_t)bytes);
    if (pages == NULL)
        return HW_ERR_MEMORY;
    hw_pages_make_huge(pages, (size_t)bytes);
    int64_t n = bytes / (int64_t)sizeof(uint64_t);
    if (n > 0)
        hw_stream_sweep(HW_STREAM_WRITE, pages, n, 0, n, 1);
    hw_pages_free(pages, (size_t)bytes);
    return HW_OK;
}

static int chase_member(hw_team_t *team, bench_t *bench)
{
    const hw_chase_t *chase = bench->chase;
    size_t bytes = (size_t)chase->n_lines * sizeof(hw_chase_line_t);
    hw_chase_line_t *lines = hw_pages_new(bytes);
    int status = lines == NULL ? HW_ERR_MEMORY : HW_OK;
    if (status == HW_OK) {
        hw_pages_make_huge(lines, bytes);
        if (chase->node != HW_NONE && hw_pages_bind(lines, bytes, chase->node, true) != 0)
            status = HW_ERR_NODE;
    }
    if (status == HW_OK) {
        hw_chase_link(lines, chase->n_lines, chase->seed);
        status = evict(chase->evict_bytes);
    }
    status = hw_team_meet(team, status);
    if (status == HW_OK)
        chase_rounds(bench, lines);
    hw_pages_free(lines, bytes);
    return status;
}

static int load_member(hw_team_t *team, bench_t *bench)
{
    const hw_chase_t *chase = bench->chase;
    volatile uint64_t zero = 0;
    void *pages;
    int status = hw_stream_pages(HW_STREAM_TRIAD, chase->load_items, chase->node, &pages);
    status = hw_team_meet(team, status);
    while (status == HW_OK && !atomic_load_explicit(&bench->is_over, memory_order_relaxed))
        hw_stream_sweep(HW_STREAM_TRIAD, pages, chase->load_items, 0, chase->load_items, zero);
    hw_pages_free(pages, hw_stream_bytes(HW_STREAM_TRIAD, chase->load_items));
    return status;
}

static int member(hw_team_t *team, int32_t number, void *shared)
{
    return number == 0 ? chase_member(team, shared) : load_member(team, shared);
}

int hw_chase_measure(const hw_chase_t *chase, int64_t *round_ns)
{
    bench_t bench = {.chase = chase, .round_ns = round_ns};
    atomic_init(&bench.is_over, false);
    return hw_team_run(chase->cpu, chase->n_threads, member, &bench);
}

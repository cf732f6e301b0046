/*
 * Latency of loads that each wait for the one before, in caches or in memory, with other cores at rest or streaming.
 *
 * The loads follow pointers through the lines of a buffer in an order that no prefetcher guesses: one cycle through all
 * lines, drawn at random (Sattolo's algorithm). A round goes on where the one before has stopped, so that in a buffer with
 * more lines than steps are made no line comes twice; for memory, other pages are written before the first round, so many
 * that they displace the lines from all caches.
 *
 * Invariant: from any line, as many steps as there are lines lead back to it and through all others.
 */
#include "clock.h"
#include "memory.h"
#include "probes.h"
#include "random.h"
#include "team.h"

typedef struct {
    const hw_chase_t *chase;
    int64_t *round_ns;
    const void *volatile sink; /* kept, so that no step is left out */
    _Alignas(HW_LINE) _Atomic bool is_over;
} bench_t;

void hw_chase_link(hw_chase_line_t *lines, int32_t n)
{
    hw_random_t random;
    hw_random_init(&random, 1, 0);
    for (int32_t i = 0; i < n; i++)
        lines[i].next = &lines[i];
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t other = hw_random_below(&random, i);
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
    void *pages;
    int status = hw_pages_on(HW_NONE, (size_t)bytes, &pages);
    int64_t n = bytes / (int64_t)sizeof(uint64_t);
    if (status == HW_OK && n > 0)
        hw_stream_sweep(HW_STREAM_WRITE, pages, n, 0, n, 1);
    hw_pages_free(pages, (size_t)bytes);
    return status;
}

static int chase_member(hw_team_t *team, bench_t *bench)
{
    const hw_chase_t *chase = bench->chase;
    size_t bytes = (size_t)chase->n_lines * sizeof(hw_chase_line_t);
    void *lines;
    int status = hw_pages_on(chase->node, bytes, &lines);
    if (status == HW_OK) {
        hw_chase_link(lines, chase->n_lines);
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

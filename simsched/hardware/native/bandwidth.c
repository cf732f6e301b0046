/*
 * Bandwidth of threads that each sweep arrays of their own, in caches or in memory.
 *
 * Bytes are counted as STREAM does: what the loop reads and what it writes, not the lines that a store loads before it
 * overwrites them. The loops are plain C that the compiler vectorises, without the instructions that bypass caches, so they
 * show what programs reach that are compiled as this library is. A round is a part of the arrays, the next round the next
 * part: arrays larger than the caches then need no long rounds, in some of which other programs would take a core away.
 *
 * Invariant: every thread touches only its arrays; times are those from the first thread's begin to the last one's end.
 */
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "probes.h"
#include "team.h"

typedef struct {
    _Alignas(HW_LINE) int64_t begin_ns;
    int64_t end_ns;
    uint64_t sink; /* kept, so that no loop is left out */
} lane_t;

typedef struct {
    const hw_stream_t *stream;
    lane_t *lanes;
    int64_t *round_ns;
} bench_t;

static uint64_t read_all(const uint64_t *a, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

static void write_all(uint64_t *a, int64_t n, uint64_t key)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = key;
}

/* The key, 0 when measuring, keeps the compiler from calling memcpy, which bypasses caches. */
static void copy_all(uint64_t *restrict a, const uint64_t *restrict b, int64_t n, uint64_t key)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] ^ key;
}

static void triad_all(double *restrict a, const double *restrict b, const double *restrict c, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] + factor * c[i];
}

static void compute_all(double *a, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++) {
        double x = a[i];
        a[i] = (((((((x * factor + 0.5) * x + 0.25) * x + 0.125) * x + 0.5) * x + 0.25) * x) + 0.125) * 0.25;
    }
}

uint64_t hw_stream_sweep(hw_stream_kind_t kind, void *items, int64_t n, int64_t begin, int64_t end, uint64_t key)
{
    uint64_t *words = (uint64_t *)items + begin;
    double *numbers = (double *)items + begin;
    int64_t count = end - begin;
    switch (kind) {
    case HW_STREAM_READ:
        return read_all(words, count);
    case HW_STREAM_WRITE:
        write_all(words, count, key);
        return key;
    case HW_STREAM_COPY:
        copy_all(words, words + n, count, key);
        return words[count / 2];
    case HW_STREAM_TRIAD:
        triad_all(numbers, numbers + n, numbers + 2 * n, count, 0.5 + (double)key);
        return numbers[count / 2] > 0;
    default:
        compute_all(numbers, count, 0.5 + (double)key);
        return numbers[count / 2] > 0;
    }
}

size_t hw_stream_bytes(hw_stream_kind_t kind, int64_t n)
{
    size_t arrays = kind == HW_STREAM_TRIAD ? 3 : kind == HW_STREAM_COPY ? 2 : 1;
    return arrays * (size_t)n * sizeof(uint64_t);
}

int hw_stream_pages(hw_stream_kind_t kind, int64_t n, int node, void **pages)
{
    size_t bytes = hw_stream_bytes(kind, n);
    int status = hw_pages_on(node, bytes, pages);
    if (status == HW_OK)
        hw_pages_touch(*pages, bytes);
    return status;
}

/* From the first begin to the last end of a round. */
static int64_t span(const bench_t *bench)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (int32_t i = 0; i < bench->stream->n_threads; i++) {
        const lane_t *lane = &bench->lanes[i];
        begin = lane->begin_ns < begin ? lane->begin_ns : begin;
        end = lane->end_ns > end ? lane->end_ns : end;
    }
    return end - begin;
}

static int stream_member(hw_team_t *team, int32_t number, void *shared)
{
    bench_t *bench = shared;
    const hw_stream_t *stream = bench->stream;
    lane_t *lane = &bench->lanes[number];
    volatile uint64_t zero = 0; /* unknown to the compiler */
    void *pages;
    int status = hw_team_meet(team, hw_stream_pages(stream->kind, stream->n_items, stream->node, &pages));
    if (status == HW_OK)
        lane->sink = hw_stream_sweep(stream->kind, pages, stream->n_items, 0, stream->n_items, zero);
    for (int32_t round = 0; status == HW_OK && round < stream->n_rounds; round++) {
        int64_t part = round % stream->n_parts;
        int64_t begin = stream->n_items * part / stream->n_parts, end = stream->n_items * (part + 1) / stream->n_parts;
        hw_team_meet(team, HW_OK);
        lane->begin_ns = hw_monotonic_ns();
        for (int32_t sweep = 0; sweep < stream->n_sweeps; sweep++)
            lane->sink += hw_stream_sweep(stream->kind, pages, stream->n_items, begin, end, zero);
        lane->end_ns = hw_monotonic_ns();
        hw_team_meet(team, HW_OK);
        if (number == 0) /* nobody begins again before the next meeting */
            bench->round_ns[round] = span(bench);
    }
    hw_pages_free(pages, hw_stream_bytes(stream->kind, stream->n_items));
    return status;
}

int hw_stream_measure(const hw_stream_t *stream, int64_t *round_ns)
{
    bench_t bench = {.stream = stream, .round_ns = round_ns};
    bench.lanes = aligned_alloc(HW_LINE, (size_t)stream->n_threads * sizeof(lane_t));
    if (bench.lanes == NULL)
        return HW_ERR_MEMORY;
    int status = hw_team_run(stream->cpu, stream->n_threads, stream_member, &bench);
    free(bench.lanes);
    return status;
}

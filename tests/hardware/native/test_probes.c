/* Probes: sweeps compute what they say, cycles go through all lines, rounds are timed, errors come back. */
#include "memory.h"
#include "probes.h"
#include "team.h"

#include <string.h>

#include "support.h"

enum { ITEMS = 1001, ROUNDS = 3 };

static void test_sweeps(void)
{
    uint64_t words[2 * ITEMS];
    double numbers[3 * ITEMS];
    for (int i = 0; i < 2 * ITEMS; i++)
        words[i] = (uint64_t)i;
    CHECK(hw_stream_sweep(HW_STREAM_READ, words, ITEMS, 0, ITEMS, 0) == (uint64_t)ITEMS * (ITEMS - 1) / 2);
    CHECK(hw_stream_sweep(HW_STREAM_COPY, words, ITEMS, 0, ITEMS, 0) == ITEMS + ITEMS / 2);
    CHECK(memcmp(words, words + ITEMS, ITEMS * sizeof(uint64_t)) == 0);
    hw_stream_sweep(HW_STREAM_WRITE, words, ITEMS, 0, ITEMS, 7);
    for (int i = 0; i < 2 * ITEMS; i++)
        CHECK(words[i] == (i < ITEMS ? 7u : (uint64_t)i));
    for (int i = 0; i < 3 * ITEMS; i++)
        numbers[i] = i;
    hw_stream_sweep(HW_STREAM_TRIAD, numbers, ITEMS, 0, ITEMS, 0);
    for (int i = 0; i < ITEMS; i++)
        CHECK(numbers[i] == (ITEMS + i) + 0.5 * (2 * ITEMS + i));
    /* Of a part: only its items. */
    CHECK(hw_stream_sweep(HW_STREAM_READ, words, ITEMS, 10, 12, 0) == 14);
    hw_stream_sweep(HW_STREAM_WRITE, words, ITEMS, 10, 12, 9);
    for (int i = 0; i < ITEMS; i++)
        CHECK(words[i] == (i == 10 || i == 11 ? 9u : 7u));
    hw_stream_sweep(HW_STREAM_COMPUTE, numbers, ITEMS, 0, ITEMS, 0);
    CHECK(numbers[0] == numbers[0]);
    CHECK(hw_stream_bytes(HW_STREAM_TRIAD, 10) == 240 && hw_stream_bytes(HW_STREAM_COPY, 10) == 160);
    CHECK(hw_stream_bytes(HW_STREAM_READ, 10) == 80 && hw_stream_bytes(HW_STREAM_WRITE, 10) == 80);
}

static void test_cycles(void)
{
    for (int32_t n = 1; n < 200; n++) {
        hw_chase_line_t lines[200];
        hw_chase_link(lines, n);
        const hw_chase_line_t *line = lines;
        int64_t steps = 0;
        do {
            line = line->next;
            steps++;
            CHECK(line >= lines && line < lines + n && steps <= n);
        } while (line != lines);
        CHECK(steps == n);
    }
    CHECK(sizeof(hw_chase_line_t) == HW_CHASE_LINE);
}

static void test_streams(void)
{
    int32_t cpu[3] = {0, 0, 0};
    for (int kind = 0; kind < HW_N_STREAMS; kind++) {
        int64_t ns[ROUNDS] = {0};
        hw_stream_t stream = {cpu, kind == HW_STREAM_READ ? 3 : 1, (hw_stream_kind_t)kind, HW_NONE, 4096, 2, 20, ROUNDS};
        CHECK(hw_stream_measure(&stream, ns) == HW_OK);
        for (int i = 0; i < ROUNDS; i++)
            CHECK(ns[i] > 0);
    }
}

static void test_chases(void)
{
    int32_t cpu[2] = {0, 0};
    for (int32_t threads = 1; threads <= 2; threads++) {
        int64_t ns[ROUNDS] = {0};
        hw_chase_t chase = {cpu, threads, HW_NONE, 512, 512, 100000, ROUNDS, 1 << 16, 1024};
        CHECK(hw_chase_measure(&chase, ns) == HW_OK);
        for (int i = 0; i < ROUNDS; i++)
            CHECK(ns[i] > 0);
    }
}

/* Every round is timed; a member that cannot begin ends both. */
static void test_transfers(void)
{
    int64_t ns[4] = {0};
    for (hw_transfer_kind_t kind = HW_TRANSFER_READ; kind <= HW_TRANSFER_OWN_UPDATE; kind++)
        CHECK(hw_transfer_measure(kind, 0, 0, 4096, 8192, 4, ns) == HW_OK);
    for (int i = 0; i < 4; i++)
        CHECK(ns[i] > 0);
    CHECK(hw_transfer_measure(HW_TRANSFER_READ, 0, 1 << 20, 16, 0, 1, ns) != HW_OK); /* no such hardware thread */
}

/* Whichever member fails, all end, and the caller learns why. */
static void test_errors(void)
{
    int64_t ns[1];
    int32_t cpu[3] = {0, 1 << 20, 0};
    hw_stream_t stream = {cpu, 3, HW_STREAM_READ, HW_NONE, 16, 1, 1, 1};
    CHECK(hw_stream_measure(&stream, ns) == HW_ERR_PIN);
    cpu[1] = 0;
    stream.node = HW_MAX_NODES;
    CHECK(hw_stream_measure(&stream, ns) == HW_ERR_NODE);
    stream.node = HW_NONE;
    stream.n_items = (int64_t)1 << 56;
    CHECK(hw_stream_measure(&stream, ns) == HW_ERR_MEMORY);
    hw_chase_t chase = {cpu, 2, HW_NONE, 64, 0, 64, 1, 0, (int64_t)1 << 56};
    CHECK(hw_chase_measure(&chase, ns) == HW_ERR_MEMORY);
    chase.load_items = 16;
    chase.evict_bytes = (int64_t)1 << 60;
    CHECK(hw_chase_measure(&chase, ns) == HW_ERR_MEMORY);
    chase.evict_bytes = 0;
    chase.node = HW_MAX_NODES;
    CHECK(hw_chase_measure(&chase, ns) == HW_ERR_NODE);
}

static int count_off(hw_team_t *team, int32_t number, void *shared)
{
    _Atomic int32_t *sum = shared;
    atomic_fetch_add(sum, number + 1);
    CHECK(hw_team_meet(team, HW_OK) == HW_OK);
    CHECK(atomic_load(sum) == 6);
    int status = hw_team_meet(team, number == 1 ? HW_ERR_NODE : HW_OK);
    CHECK(status == HW_ERR_NODE);
    return HW_OK;
}

static void test_team(void)
{
    int32_t cpu[3] = {0, 0, 0};
    _Atomic int32_t sum = 0;
    CHECK(hw_team_run(cpu, 3, count_off, &sum) == HW_ERR_NODE);
    CHECK(atomic_load(&sum) == 6);
}

int main(void)
{
    test_sweeps();
    test_cycles();
    test_team();
    test_streams();
    test_chases();
    test_transfers();
    test_errors();
    return 0;
}

/*
 * What the steps of scheduling cost on this host, measured apart from any run.
 *
 * Two threads on two cores play owner and thief in turns. The thief meets deques that the owner has just written, as in a
 * run in which both work, so that a probe includes fetching the lines from the other core.
 */
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "deque.h"
#include "probes.h"
#include "queue.h"
#include "random.h"
#include "team.h"

enum { DEQUES = 256, RING = 16, QUEUE = 4096 };

typedef struct {
    _Alignas(HW_LINE) hw_deque_t deque;
    _Alignas(HW_LINE) _Atomic int32_t ring[RING];
} lane_t;

typedef struct {
    lane_t *lanes;
    int32_t following[DEQUES]; /* one cycle through all deques, in an order that nothing can foresee */
    int32_t n_rounds;
    hw_primitives_t *result;
} bench_t;

/* Nanoseconds per item since `begin`, if that is less than `best`. */
static double less(double best, int64_t begin, int items)
{
    double now = (double)(hw_monotonic_ns() - begin) / items;
    return now < best ? now : best;
}

/* Sattolo's algorithm: one cycle through all numbers. */
static void make_cycle(int32_t following[DEQUES])
{
    hw_random_t random;
    hw_random_init(&random, 1, 0);
    for (int32_t i = 0; i < DEQUES; i++)
        following[i] = i;
    for (int32_t i = DEQUES - 1; i > 0; i--) {
        int32_t other = hw_random_below(&random, i), kept = following[i];
        following[i] = following[other];
        following[other] = kept;
    }
}

/* Steals the item of each deque, which says where the next one is: a thief does nothing before it knows what it got, so
 * steals must not overlap. Returns how many it got. */
static int steal_all(lane_t *lanes)
{
    int stolen = 0;
    for (int32_t lane = 0; stolen < DEQUES; stolen++) {
        lane = hw_deque_steal(&lanes[lane].deque);
        if (lane < 0)
            break;
    }
    return stolen;
}

/* Probes each deque once; returns whether all are empty. */
static bool probe_all(lane_t *lanes)
{
    bool are_empty = true;
    for (int i = 0; i < DEQUES; i++)
        are_empty &= hw_deque_steal(&lanes[i].deque) == HW_EMPTY;
    return are_empty;
}

/* Every round has two parts: one item in each deque; deques that have just been emptied. */
static int thief(hw_team_t *team, bench_t *bench)
{
    int status = hw_team_meet(team, HW_OK);
    for (int32_t round = 0; status == HW_OK && round < bench->n_rounds; round++) {
        hw_team_meet(team, HW_OK);
        int64_t begin = hw_monotonic_ns();
        if (steal_all(bench->lanes) == DEQUES)
            bench->result->steal = less(bench->result->steal, begin, DEQUES);
        hw_team_meet(team, HW_OK);
        hw_team_meet(team, HW_OK);
        begin = hw_monotonic_ns();
        if (probe_all(bench->lanes))
            bench->result->probe = less(bench->result->probe, begin, DEQUES);
        hw_team_meet(team, HW_OK);
    }
    return status;
}

/* What an owner does alone: pushes until the ring is full, then takes everything. */
static void measure_alone(lane_t *lane, hw_primitives_t *result, int32_t n_rounds)
{
    for (int32_t round = 0; round < n_rounds; round++) {
        int64_t begin = hw_monotonic_ns();
        for (int32_t i = 0; i < QUEUE; i++)
            hw_deque_push(&lane->deque, i);
        result->push = less(result->push, begin, QUEUE);
        begin = hw_monotonic_ns();
        for (int32_t i = 0; i < QUEUE; i++)
            hw_deque_take(&lane->deque);
        result->take = less(result->take, begin, QUEUE);
    }
}

static void measure_queue(int32_t *ring, hw_primitives_t *result, int32_t n_rounds)
{
    hw_queue_t queue;
    hw_queue_init(&queue, ring, QUEUE);
    for (int32_t round = 0; round < n_rounds; round++) {
        int64_t begin = hw_monotonic_ns();
        for (int32_t i = 0; i < QUEUE; i++)
            hw_queue_push(&queue, i);
        result->lock_push = less(result->lock_push, begin, QUEUE);
        begin = hw_monotonic_ns();
        for (int32_t i = 0; i < QUEUE; i++)
            hw_queue_take(&queue);
        result->lock_take = less(result->lock_take, begin, QUEUE);
    }
}

static void measure_stamp(hw_primitives_t *result, int32_t n_rounds)
{
    hw_clock_t clock;
    hw_clock_init(&clock);
    for (int32_t round = 0; round < n_rounds; round++) {
        int64_t begin = hw_monotonic_ns();
        for (int32_t i = 0; i < QUEUE; i++)
            hw_ticks(&clock);
        result->stamp = less(result->stamp, begin, QUEUE);
    }
}

/* First alone, then with the thief. */
static int owner(hw_team_t *team, bench_t *bench)
{
    const size_t bytes = QUEUE * sizeof(int32_t);
    void *ring = hw_pages_new(bytes);
    if (ring != NULL) {
        lane_t lane;
        hw_deque_init(&lane.deque, ring, QUEUE);
        measure_alone(&lane, bench->result, bench->n_rounds);
        measure_queue(ring, bench->result, bench->n_rounds);
        measure_stamp(bench->result, bench->n_rounds);
    }
    hw_pages_free(ring, bytes);
    int status = hw_team_meet(team, ring == NULL ? HW_ERR_MEMORY : HW_OK);
    for (int32_t round = 0; status == HW_OK && round < bench->n_rounds; round++) {
        for (int i = 0; i < DEQUES; i++)
            hw_deque_push(&bench->lanes[i].deque, bench->following[i]);
        hw_team_meet(team, HW_OK);
        hw_team_meet(team, HW_OK);
        for (int i = 0; i < DEQUES; i++) {
            hw_deque_push(&bench->lanes[i].deque, i);
            hw_deque_take(&bench->lanes[i].deque);
        }
        hw_team_meet(team, HW_OK);
        hw_team_meet(team, HW_OK);
    }
    return status;
}

static int member(hw_team_t *team, int32_t number, void *shared)
{
    return number == 0 ? owner(team, shared) : thief(team, shared);
}

int hw_primitives_measure(int32_t owner_cpu, int32_t thief_cpu, int32_t n_rounds, hw_primitives_t *result)
{
    bench_t bench = {.n_rounds = n_rounds, .result = result};
    const int32_t cpus[] = {owner_cpu, thief_cpu};
    *result = (hw_primitives_t){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    bench.lanes = aligned_alloc(HW_LINE, DEQUES * sizeof(lane_t));
    if (bench.lanes == NULL)
        return HW_ERR_MEMORY;
    for (int i = 0; i < DEQUES; i++)
        hw_deque_init(&bench.lanes[i].deque, bench.lanes[i].ring, RING);
    make_cycle(bench.following);
    int status = hw_team_run(cpus, 2, member, &bench);
    free(bench.lanes);
    return status;
}

#include "primitives.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "barrier.h"
#include "clock.h"
#include "deque.h"
#include "queue.h"

enum { DEQUES = 256, RING = 16, QUEUE = 4096 };

typedef struct {
    _Alignas(HW_LINE) hw_deque_t deque;
    _Alignas(HW_LINE) _Atomic int32_t ring[RING];
} lane_t;

typedef struct {
    lane_t *lanes;
    int32_t following[DEQUES]; /* one cycle through all deques, in an order that nothing can foresee */
    hw_barrier_t barrier;
    int32_t thief_cpu, n_rounds;
    _Atomic int status;
    double steal, probe;
} bench_t;

static void meet(hw_barrier_t *barrier)
{
    if (hw_barrier_arrive(barrier))
        hw_barrier_open(barrier);
}

/* Nanoseconds per item since `begin`, if that is less than `best`. */
static double less(double best, int64_t begin, int items)
{
    double now = (double)(hw_monotonic_ns() - begin) / items;
    return now < best ? now : best;
}

/* Sattolo's algorithm: one cycle through all numbers. */
static void make_cycle(int32_t following[DEQUES])
{
    uint32_t state = 1;
    for (int32_t i = 0; i < DEQUES; i++)
        following[i] = i;
    for (int32_t i = DEQUES - 1; i > 0; i--) {
        state = state * 1664525u + 1013904223u; /* Numerical Recipes */
        int32_t other = (int32_t)((state >> 8) % (uint32_t)i), kept = following[i];
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
static void *thief(void *argument)
{
    bench_t *bench = argument;
    int status = hw_pin(bench->thief_cpu);
    if (status != HW_OK)
        atomic_store(&bench->status, status);
    for (int32_t round = 0; round < bench->n_rounds; round++) {
        meet(&bench->barrier);
        int64_t begin = hw_monotonic_ns();
        if (steal_all(bench->lanes) == DEQUES)
            bench->steal = less(bench->steal, begin, DEQUES);
        meet(&bench->barrier);
        meet(&bench->barrier);
        begin = hw_monotonic_ns();
        if (probe_all(bench->lanes))
            bench->probe = less(bench->probe, begin, DEQUES);
        meet(&bench->barrier);
    }
    return NULL;
}

static void *owner(void *argument)
{
    bench_t *bench = argument;
    for (int32_t round = 0; round < bench->n_rounds; round++) {
        for (int i = 0; i < DEQUES; i++)
            hw_deque_push(&bench->lanes[i].deque, bench->following[i]);
        meet(&bench->barrier);
        meet(&bench->barrier);
        for (int i = 0; i < DEQUES; i++) {
            hw_deque_push(&bench->lanes[i].deque, i);
            hw_deque_take(&bench->lanes[i].deque);
        }
        meet(&bench->barrier);
        meet(&bench->barrier);
    }
    return NULL;
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

typedef struct {
    bench_t *bench;
    hw_primitives_t *result;
    int32_t cpu;
} owner_t;

/* The owner's thread: first alone, then with the thief. */
static void *owner_main(void *argument)
{
    owner_t *self = argument;
    bench_t *bench = self->bench;
    const size_t bytes = QUEUE * sizeof(int32_t);
    void *ring = hw_pages_new(bytes);
    lane_t lane;
    int status = ring == NULL ? HW_ERR_MEMORY : hw_pin(self->cpu);
    if (status == HW_OK) {
        hw_deque_init(&lane.deque, ring, QUEUE);
        measure_alone(&lane, self->result, bench->n_rounds);
        measure_queue(ring, self->result, bench->n_rounds);
        measure_stamp(self->result, bench->n_rounds);
    }
    hw_pages_free(ring, bytes);
    if (status != HW_OK)
        atomic_store(&bench->status, status);
    return owner(bench);
}

int hw_primitives_measure(int32_t owner_cpu, int32_t thief_cpu, int32_t n_rounds, hw_primitives_t *result)
{
    bench_t bench = {.thief_cpu = thief_cpu, .n_rounds = n_rounds, .steal = INFINITY, .probe = INFINITY};
    owner_t self = {&bench, result, owner_cpu};
    pthread_t threads[2];
    *result = (hw_primitives_t){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    bench.lanes = aligned_alloc(HW_LINE, DEQUES * sizeof(lane_t));
    if (bench.lanes == NULL)
        return HW_ERR_MEMORY;
    for (int i = 0; i < DEQUES; i++)
        hw_deque_init(&bench.lanes[i].deque, bench.lanes[i].ring, RING);
    make_cycle(bench.following);
    hw_barrier_init(&bench.barrier, 2);
    atomic_init(&bench.status, HW_OK);
    int status = pthread_create(&threads[0], NULL, thief, &bench) == 0 ? HW_OK : HW_ERR_THREAD;
    if (status == HW_OK) {
        if (pthread_create(&threads[1], NULL, owner_main, &self) == 0) {
            pthread_join(threads[1], NULL);
        } else {
            status = HW_ERR_THREAD;
            owner(&bench); /* the thief waits for somebody */
        }
        pthread_join(threads[0], NULL);
    }
    result->steal = bench.steal;
    result->probe = bench.probe;
    free(bench.lanes);
    return status != HW_OK ? status : atomic_load(&bench.status);
}

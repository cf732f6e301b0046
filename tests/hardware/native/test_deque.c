/* Deque: alone it behaves as a plain list; under thieves every item is taken once and each thief sees the oldest first. */
#include "deque.h"

#include <pthread.h>
#include <string.h>

#include "support.h"

enum { RING = 8, ITEMS = 200000, THIEVES = 3, STEPS = 20000 };

static void test_order_alone(uint64_t seed)
{
    _Atomic int32_t ring[RING];
    int32_t list[STEPS], oldest = 0, newest = 0; /* list[oldest] to list[newest - 1] are there */
    hw_deque_t deque;
    hw_deque_init(&deque, ring, RING);
    for (int32_t step = 0; step < STEPS; step++) {
        switch (draw(&seed, 3)) {
        case 0:
            if (newest - oldest < RING) {
                list[newest++] = step;
                hw_deque_push(&deque, step);
            }
            break;
        case 1:
            CHECK(hw_deque_take(&deque) == (newest > oldest ? list[--newest] : HW_EMPTY));
            break;
        default:
            CHECK(hw_deque_steal(&deque) == (newest > oldest ? list[oldest++] : HW_EMPTY));
        }
    }
}

typedef struct {
    hw_deque_t deque;
    _Atomic int32_t ring[RING];
    int64_t payload[ITEMS]; /* plain: written before the push, read by whoever gets the item */
    _Atomic int32_t taken[ITEMS];
    _Atomic int32_t left;
} shared_t;

static void got(shared_t *shared, int32_t item)
{
    CHECK(item >= 0 && item < ITEMS);
    CHECK(shared->payload[item] == 3 * (int64_t)item + 1);
    atomic_fetch_add_explicit(&shared->taken[item], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&shared->left, 1, memory_order_relaxed);
}

static void *thief(void *argument)
{
    shared_t *shared = argument;
    int32_t last = -1;
    while (atomic_load_explicit(&shared->left, memory_order_relaxed) > 0) {
        int32_t item = hw_deque_steal(&shared->deque);
        if (item < 0) {
            hw_back_off(9);
            continue;
        }
        CHECK(item > last); /* pushed in ascending order, so what is oldest ascends */
        last = item;
        got(shared, item);
    }
    return NULL;
}

static void test_thieves(uint64_t seed)
{
    shared_t *shared = calloc(1, sizeof(*shared) + HW_LINE);
    CHECK(shared != NULL);
    shared_t *aligned = (shared_t *)(((uintptr_t)shared + HW_LINE - 1) / HW_LINE * HW_LINE);
    pthread_t threads[THIEVES];
    hw_deque_init(&aligned->deque, aligned->ring, RING);
    atomic_init(&aligned->left, ITEMS);
    for (int t = 0; t < THIEVES; t++)
        CHECK(pthread_create(&threads[t], NULL, thief, aligned) == 0);
    int32_t next = 0;
    while (atomic_load_explicit(&aligned->left, memory_order_relaxed) > 0) {
        int64_t size = atomic_load(&aligned->deque.bottom) - atomic_load(&aligned->deque.top);
        /* Mostly one or two items, where owner and thieves meet. */
        if (next < ITEMS && size < RING && draw(&seed, 8) >= size) {
            aligned->payload[next] = 3 * (int64_t)next + 1;
            hw_deque_push(&aligned->deque, next++);
        } else {
            int32_t item = hw_deque_take(&aligned->deque);
            if (item >= 0)
                got(aligned, item);
            else if (next == ITEMS)
                hw_back_off(9);
        }
    }
    for (int t = 0; t < THIEVES; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    for (int32_t i = 0; i < ITEMS; i++)
        CHECK(aligned->taken[i] == 1);
    CHECK(hw_deque_take(&aligned->deque) == HW_EMPTY && hw_deque_steal(&aligned->deque) == HW_EMPTY);
    free(shared);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        test_order_alone(seed);
        test_thieves(seed);
    }
    return 0;
}

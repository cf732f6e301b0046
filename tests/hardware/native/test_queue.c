/* Central queue: first in, first out; every item is taken once, whoever pushes and takes. */
#include <pthread.h>

#include "queue.h"

#include "support.h"

enum { RING = 1 << 16, ITEMS = 10000, THREADS = 4 };

typedef struct {
    hw_queue_t queue;
    int32_t ring[RING];
    _Atomic int32_t taken[THREADS * ITEMS];
    _Atomic int32_t left;
} shared_t;

typedef struct {
    shared_t *shared;
    int32_t number;
} share_t;

static void *push_and_take(void *argument)
{
    share_t *share = argument;
    shared_t *shared = share->shared;
    int32_t last[THREADS], next = 0;
    for (int t = 0; t < THREADS; t++)
        last[t] = -1;
    while (atomic_load(&shared->left) > 0) {
        if (next < ITEMS) {
            hw_queue_push(&shared->queue, share->number * ITEMS + next++);
        }
        int32_t item = hw_queue_take(&shared->queue);
        if (item == HW_NONE) {
            hw_back_off(9);
            continue;
        }
        CHECK(item % ITEMS > last[item / ITEMS]); /* what one thread has pushed leaves in its order */
        last[item / ITEMS] = item % ITEMS;
        atomic_fetch_add(&shared->taken[item], 1);
        atomic_fetch_sub(&shared->left, 1);
    }
    return NULL;
}

static void test_order(void)
{
    hw_queue_t queue;
    int32_t ring[4], pushed = 0, taken = 0;
    uint64_t seed = 1;
    hw_queue_init(&queue, ring, 4);
    for (int step = 0; step < 1000; step++) {
        if (draw(&seed, 2) == 0 && pushed - taken < 4)
            hw_queue_push(&queue, pushed++);
        else
            CHECK(hw_queue_take(&queue) == (taken < pushed ? taken++ : HW_NONE));
    }
}

int main(void)
{
    test_order();
    shared_t *shared = aligned_alloc(HW_LINE, sizeof(shared_t));
    CHECK(shared != NULL);
    share_t shares[THREADS];
    pthread_t threads[THREADS];
    hw_queue_init(&shared->queue, shared->ring, RING);
    atomic_init(&shared->left, THREADS * ITEMS);
    for (int32_t i = 0; i < THREADS * ITEMS; i++)
        atomic_init(&shared->taken[i], 0);
    for (int t = 0; t < THREADS; t++) {
        shares[t] = (share_t){shared, t};
        CHECK(pthread_create(&threads[t], NULL, push_and_take, &shares[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    for (int32_t i = 0; i < THREADS * ITEMS; i++)
        CHECK(shared->taken[i] == 1);
    CHECK(hw_queue_take(&shared->queue) == HW_NONE);
    free(shared);
    return 0;
}

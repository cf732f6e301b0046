#include "queue.h"

enum { LOCK_PAUSES = 200 };

/* Waits busily: what the lock protects takes some nanoseconds, waking a thread microseconds. */
static void lock(hw_queue_t *queue)
{
    /* Acquire: sees what the last holder did. */
    while (atomic_exchange_explicit(&queue->is_locked, 1, memory_order_acquire) != 0)
        /* Only read meanwhile, so that the line stays with the holder. */
        for (uint32_t round = 0; atomic_load_explicit(&queue->is_locked, memory_order_relaxed) != 0; round++) {
            if (round < LOCK_PAUSES)
                hw_pause();
            else /* the holder has lost its core */
                hw_back_off(round);
        }
}

static void unlock(hw_queue_t *queue)
{
    atomic_store_explicit(&queue->is_locked, 0, memory_order_release);
}

void hw_queue_init(hw_queue_t *queue, int32_t *ring, int64_t size)
{
    atomic_init(&queue->is_locked, 0);
    atomic_init(&queue->head, 0);
    atomic_init(&queue->tail, 0);
    queue->ring = ring;
    queue->mask = size - 1;
}

void hw_queue_push(hw_queue_t *queue, int32_t item)
{
    lock(queue);
    /* Relaxed: the lock orders everything; readers outside it only guess. */
    int64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    queue->ring[tail & queue->mask] = item;
    atomic_store_explicit(&queue->tail, tail + 1, memory_order_relaxed);
    unlock(queue);
}

int32_t hw_queue_take(hw_queue_t *queue)
{
    int32_t item = HW_NONE;
    if (atomic_load_explicit(&queue->head, memory_order_relaxed) >=
        atomic_load_explicit(&queue->tail, memory_order_relaxed))
        return HW_NONE;
    lock(queue);
    int64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    if (head < atomic_load_explicit(&queue->tail, memory_order_relaxed)) {
        item = queue->ring[head & queue->mask];
        atomic_store_explicit(&queue->head, head + 1, memory_order_relaxed);
    }
    unlock(queue);
    return item;
}

#include "queue.h"

void hw_queue_init(hw_queue_t *queue, int32_t *ring, int64_t size)
{
    atomic_init(&queue->head, 0);
    atomic_init(&queue->tail, 0);
    queue->ring = ring;
    queue->mask = size - 1;
    hw_lock_init(&queue->lock);
}

void hw_queue_push(hw_queue_t *queue, int32_t item)
{
    hw_lock(&queue->lock);
    /* Relaxed: the lock orders everything; readers outside it only guess. */
    int64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    queue->ring[tail & queue->mask] = item;
    atomic_store_explicit(&queue->tail, tail + 1, memory_order_relaxed);
    hw_unlock(&queue->lock);
}

int32_t hw_queue_take(hw_queue_t *queue)
{
    int32_t item = HW_NONE;
    if (atomic_load_explicit(&queue->head, memory_order_relaxed) >=
        atomic_load_explicit(&queue->tail, memory_order_relaxed))
        return HW_NONE;
    hw_lock(&queue->lock);
    int64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    if (head < atomic_load_explicit(&queue->tail, memory_order_relaxed)) {
        item = queue->ring[head & queue->mask];
        atomic_store_explicit(&queue->head, head + 1, memory_order_relaxed);
    }
    hw_unlock(&queue->lock);
    return item;
}

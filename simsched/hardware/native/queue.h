/*
 * Central queue: one locked ring of tasks, first in, first out.
 *
 * Invariants, while the lock is free: head <= tail, tail - head items of at most mask + 1 are in the ring. Both counters
 * are atomic only so that who finds the queue empty need not take the lock.
 */
#ifndef HW_QUEUE_H
#define HW_QUEUE_H

#include "base.h"

typedef struct {
    _Alignas(HW_LINE) _Atomic uint32_t is_locked;
    _Alignas(HW_LINE) _Atomic int64_t head;
    _Atomic int64_t tail;
    int32_t *ring;
    int64_t mask;
} hw_queue_t;

/* Makes an empty queue over a ring of `size` items, a power of two; the ring stays the caller's. */
void hw_queue_init(hw_queue_t *queue, int32_t *ring, int64_t size);

/* Adds an item as the newest. There must be room. */
void hw_queue_push(hw_queue_t *queue, int32_t item);

/* Removes and returns the oldest item, or HW_NONE. */
int32_t hw_queue_take(hw_queue_t *queue);

#endif

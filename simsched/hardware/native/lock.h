/*
 * A lock that waits busily: what it protects takes some nanoseconds, waking a thread microseconds.
 *
 * Invariant: held is 1 from the return of hw_lock() to hw_unlock() of the same thread, else 0.
 */
#ifndef HW_LOCK_H
#define HW_LOCK_H

#include <stdatomic.h>

#include "base.h"

enum { HW_LOCK_PAUSES = 200 };

typedef struct {
    _Atomic uint32_t held;
} hw_lock_t;

static inline void hw_lock_init(hw_lock_t *lock)
{
    atomic_init(&lock->held, 0);
}

static inline void hw_lock(hw_lock_t *lock)
{
    /* Acquire: sees what the last holder did. */
    while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0)
        /* Only read meanwhile, so that the line stays with the holder. */
        for (uint32_t round = 0; atomic_load_explicit(&lock->held, memory_order_relaxed) != 0; round++) {
            if (round < HW_LOCK_PAUSES)
                hw_pause();
            else /* the holder has lost its core */
                hw_back_off(round);
        }
}

static inline void hw_unlock(hw_lock_t *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif

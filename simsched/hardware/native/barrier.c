#include "barrier.h"

void hw_barrier_init(hw_barrier_t *barrier, int32_t n_workers)
{
    atomic_init(&barrier->n_arrived, 0);
    atomic_init(&barrier->phase, 0);
    barrier->n_workers = n_workers;
}

bool hw_barrier_arrive(hw_barrier_t *barrier)
{
    /* Read before arriving: afterwards the phase may change. */
    uint32_t phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    /* Release: shows what this worker did; acquire: the last one sees what all did. */
    if (atomic_fetch_add_explicit(&barrier->n_arrived, 1, memory_order_acq_rel) == barrier->n_workers - 1)
        return true;
    for (uint32_t round = 0; atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase; round++)
        hw_back_off(round);
    return false;
}

void hw_barrier_open(hw_barrier_t *barrier)
{
    uint32_t phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    atomic_store_explicit(&barrier->n_arrived, 0, memory_order_relaxed); /* published by the next line */
    atomic_store_explicit(&barrier->phase, phase + 1, memory_order_release);
}

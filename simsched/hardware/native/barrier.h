/*
 * Barrier of all workers with a part that one of them executes alone.
 *
 * The last to arrive gets true, does its part and opens the barrier; the others wait for that. What anybody wrote before
 * arriving is visible to the last one, and what that wrote before opening to all.
 *
 * Invariant: n_arrived counts those who have arrived in the present phase; phase grows by one with every opening.
 */
#ifndef HW_BARRIER_H
#define HW_BARRIER_H

#include "base.h"

typedef struct {
    _Alignas(HW_LINE) _Atomic int32_t n_arrived;
    _Alignas(HW_LINE) _Atomic uint32_t phase;
    int32_t n_workers;
} hw_barrier_t;

void hw_barrier_init(hw_barrier_t *barrier, int32_t n_workers);

/* Returns true to the last worker, who must open; to the others false after it has been opened. */
bool hw_barrier_arrive(hw_barrier_t *barrier);
void hw_barrier_open(hw_barrier_t *barrier);

#endif

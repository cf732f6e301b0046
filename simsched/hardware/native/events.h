/*
 * Events that the processor counts for one thread: cycles, instructions, misses of the last cache; user mode only.
 *
 * Many hosts do not permit this, virtual machines often lack the counters. What cannot be counted reads as HW_NONE.
 */
#ifndef HW_EVENTS_H
#define HW_EVENTS_H

#include "runtime.h"

typedef struct {
    int file[HW_N_EVENTS];
} hw_events_t;

/* Begins to count for the calling thread; returns the errno of the first that failed, or 0. */
int hw_events_open(hw_events_t *events);

/* Stops, reads and closes. */
void hw_events_finish(hw_events_t *events, int64_t *counts);

#endif

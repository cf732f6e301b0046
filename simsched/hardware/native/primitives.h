/*
 * What the steps of scheduling cost on this host, measured apart from any run.
 *
 * Two threads on two cores play owner and thief in turns. The thief meets deques that the owner has just written, as in a
 * run in which both work, so that a probe includes fetching the lines from the other core.
 */
#ifndef HW_PRIMITIVES_H
#define HW_PRIMITIVES_H

#include "base.h"

/* Mean times in nanoseconds. */
typedef struct {
    double push, take;         /* own deque: adding a task, taking the newest */
    double steal, probe;       /* another's deque: taking the oldest, finding nothing */
    double lock_push, lock_take; /* central queue, nobody else there */
    double stamp;              /* one time stamp of the trace */
} hw_primitives_t;

/* Measures with the owner on one core and the thief on another (or the same); repeats and keeps the best of each. */
int hw_primitives_measure(int32_t owner_cpu, int32_t thief_cpu, int32_t n_rounds, hw_primitives_t *result);

#endif

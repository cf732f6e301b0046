/*
 * Records of one worker: what happened, in order, 16 bytes each, in pages that are there before the run.
 *
 * Invariants: count <= capacity; records are written by their worker alone and read after it has ended; what did not fit
 * is counted in `lost`.
 */
#ifndef HW_RECORDS_H
#define HW_RECORDS_H

#include "base.h"

/* Kinds, with the meaning of `argument`. The order is known to simsched/hardware/conversion.py. */
enum {
    HW_READY,     /* the task, or its continuation, is pushed to the worker's own pool */
    HW_ACQUIRE,   /* it is taken: worker whose pool it was in */
    HW_WAKE,      /* the same, and the worker had been idle before */
    HW_START,     /* its body begins */
    HW_END,       /* it has ended */
    HW_SPAWN,     /* it is created by its parent: 1 if it will be run at once */
    HW_SUSPEND,   /* left with children outstanding: how many */
    HW_RESUME,    /* it goes on */
    HW_PARK,      /* the worker has found nothing; no task */
    HW_ITERATION, /* an iteration begins: its place in the run is given as task */
};

typedef struct {
    int64_t ticks;
    int32_t task;
    uint32_t what; /* kind + 16 * argument */
} hw_record_t;

_Static_assert(sizeof(hw_record_t) == 16, "records are read as an array of this layout");

typedef struct {
    hw_record_t *records;
    int64_t count, capacity, lost;
} hw_records_t;

static inline void hw_records_add(hw_records_t *self, int64_t ticks, uint32_t kind, int32_t task, int32_t argument)
{
    if (self->count == self->capacity) {
        self->lost++;
        return;
    }
    self->records[self->count++] = (hw_record_t){ticks, task, kind + 16u * (uint32_t)argument};
}

#endif

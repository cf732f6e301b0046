/*
 * Trace events: counted, and written to the columns of a recorder if there is one.
 *
 * The columns are the caller's and hold a fixed number of events. Whenever they are full the recorder takes them and
 * they are filled again from the start, so that a run of any length needs no memory for its events here. A recorder
 * that refuses sets `failed`; the run loop looks at it after each event, so that recording needs no result.
 */
#ifndef SSK_TRACE_H
#define SSK_TRACE_H

#include "base.h"

typedef struct {
    ssk_recorder_t recorder;
    size_t n; /* events in the columns; without a recorder, all events */
    int64_t n_taken;
    bool failed;
} ssk_trace_t;

void ssk_trace_init(ssk_trace_t *self, const ssk_recorder_t *recorder);
int ssk_trace_flush(ssk_trace_t *self) SSK_CHECK_RESULT;
int ssk_trace_verify(const ssk_trace_t *self) SSK_CHECK_RESULT;
void ssk_trace_store(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task, int32_t iteration,
                     int64_t arg0, int64_t arg1);

/* Adds `n` events of nobody, one at each of `n` times that are `step` apart. */
void ssk_trace_repeat(ssk_trace_t *self, int64_t time, int64_t step, int64_t n, int32_t kind, int32_t iteration);

/* Counts an event and writes it down if there is a recorder. */
static inline void ssk_trace_add(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task,
                                 int32_t iteration, int64_t arg0, int64_t arg1)
{
    if (self->recorder.capacity > 0)
        ssk_trace_store(self, time, kind, worker, task, iteration, arg0, arg1);
    else
        self->n++;
}

static inline int64_t ssk_trace_n_events(const ssk_trace_t *self)
{
    return self->n_taken + (int64_t)self->n;
}

#endif

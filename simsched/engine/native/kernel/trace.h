/*
 * Trace buffer: the event columns in chunks of fixed size.
 *
 * Chunks are never moved, so recording costs the same however long the run is. A chunk that cannot be allocated sets
 * `failed`; the run loop looks at it after each event, so that recording needs no result.
 */
#ifndef SSK_TRACE_H
#define SSK_TRACE_H

#include "base.h"

#define SSK_TRACE_CHUNK 16384

typedef struct {
    int64_t time_ps[SSK_TRACE_CHUNK];
    int64_t arg0[SSK_TRACE_CHUNK], arg1[SSK_TRACE_CHUNK];
    int32_t kind[SSK_TRACE_CHUNK], worker[SSK_TRACE_CHUNK], task[SSK_TRACE_CHUNK], iteration[SSK_TRACE_CHUNK];
} ssk_chunk_t;

typedef struct {
    const ssk_allocator_t *allocator;
    ssk_chunk_t **chunks;
    size_t n_chunks, capacity;
    int64_t n_events; /* counted even when not kept */
    bool keep, failed;
} ssk_trace_t;

void ssk_trace_init(ssk_trace_t *self, const ssk_allocator_t *allocator, bool keep);
void ssk_trace_free(ssk_trace_t *self);
int ssk_trace_verify(const ssk_trace_t *self) SSK_CHECK_RESULT;
void ssk_trace_store(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task, int32_t iteration,
                     int64_t arg0, int64_t arg1);
void ssk_trace_copy(const ssk_trace_t *self, const ssk_columns_t *columns);

/* Counts an event and keeps it if events are kept. */
static inline void ssk_trace_add(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task,
                                 int32_t iteration, int64_t arg0, int64_t arg1)
{
    if (self->keep)
        ssk_trace_store(self, time, kind, worker, task, iteration, arg0, arg1);
    self->n_events++;
}

#endif

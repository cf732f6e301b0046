#include "trace.h"

void ssk_trace_init(ssk_trace_t *self, const ssk_allocator_t *allocator, bool keep)
{
    memset(self, 0, sizeof(*self));
    self->allocator = allocator;
    self->keep = keep;
}

void ssk_trace_free(ssk_trace_t *self)
{
    if (self->allocator == NULL)
        return;
    for (size_t i = 0; i < self->n_chunks; i++)
        ssk_delete(self->allocator, self->chunks[i]);
    ssk_delete(self->allocator, self->chunks);
    memset(self, 0, sizeof(*self));
}

static int add_chunk(ssk_trace_t *self)
{
    int status = ssk_grow(self->allocator, &self->chunks, &self->capacity, self->n_chunks + 1,
                          sizeof(*self->chunks));
    if (status != SSK_OK)
        return status;
    /* Not ssk_new(): the chunk is written before it is read. */
    self->chunks[self->n_chunks] = self->allocator->allocate(self->allocator->context, sizeof(ssk_chunk_t));
    if (self->chunks[self->n_chunks] == NULL)
        return SSK_ERR_MEMORY;
    self->n_chunks++;
    return SSK_OK;
}

void ssk_trace_store(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task, int32_t iteration,
                     int64_t arg0, int64_t arg1)
{
    size_t i = (size_t)self->n_events % SSK_TRACE_CHUNK;
    if (self->failed)
        return;
    if (i == 0 && add_chunk(self) != SSK_OK) {
        self->failed = true;
        return;
    }
    ssk_chunk_t *chunk = self->chunks[self->n_chunks - 1];
    chunk->time_ps[i] = time;
    chunk->kind[i] = kind;
    chunk->worker[i] = worker;
    chunk->task[i] = task;
    chunk->iteration[i] = iteration;
    chunk->arg0[i] = arg0;
    chunk->arg1[i] = arg1;
}

void ssk_trace_copy(const ssk_trace_t *self, const ssk_columns_t *columns)
{
    size_t left = (size_t)self->n_events;
    for (size_t c = 0; c < self->n_chunks; c++) {
        const ssk_chunk_t *chunk = self->chunks[c];
        size_t at = c * SSK_TRACE_CHUNK, n = left < SSK_TRACE_CHUNK ? left : SSK_TRACE_CHUNK;
        memcpy(columns->time_ps + at, chunk->time_ps, n * sizeof(*chunk->time_ps));
        memcpy(columns->kind + at, chunk->kind, n * sizeof(*chunk->kind));
        memcpy(columns->worker + at, chunk->worker, n * sizeof(*chunk->worker));
        memcpy(columns->task + at, chunk->task, n * sizeof(*chunk->task));
        memcpy(columns->iteration + at, chunk->iteration, n * sizeof(*chunk->iteration));
        memcpy(columns->arg0 + at, chunk->arg0, n * sizeof(*chunk->arg0));
        memcpy(columns->arg1 + at, chunk->arg1, n * sizeof(*chunk->arg1));
        left -= n;
    }
}

int ssk_trace_verify(const ssk_trace_t *self)
{
    size_t needed = ((size_t)self->n_events + SSK_TRACE_CHUNK - 1) / SSK_TRACE_CHUNK;
    return !self->keep || self->failed || self->n_chunks == needed ? SSK_OK : SSK_ERR_INVARIANT;
}

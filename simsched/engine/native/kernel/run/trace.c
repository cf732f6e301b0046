#include "run/trace.h"

void ssk_trace_init(ssk_trace_t *self, const ssk_recorder_t *recorder)
{
    memset(self, 0, sizeof(*self));
    self->recorder = *recorder;
}

/* Empties the columns. After a refusal events are only counted. */
static void hand_over(ssk_trace_t *self)
{
    if (self->recorder.take(self->recorder.context, self->n) < 0) {
        self->failed = true;
        self->recorder.capacity = 0;
    }
    self->n_taken += (int64_t)self->n;
    self->n = 0;
}

int ssk_trace_flush(ssk_trace_t *self)
{
    if (self->recorder.capacity > 0 && self->n > 0)
        hand_over(self);
    return self->failed ? SSK_ERR_HOOK : SSK_OK;
}

void ssk_trace_store(ssk_trace_t *self, int64_t time, int32_t kind, int32_t worker, int32_t task, int32_t iteration,
                     int64_t arg0, int64_t arg1)
{
    const ssk_recorder_t *to = &self->recorder;
    size_t i = self->n++;
    to->time_ps[i] = time;
    to->kind[i] = kind;
    to->worker[i] = worker;
    to->task[i] = task;
    to->iteration[i] = iteration;
    to->arg0[i] = arg0;
    to->arg1[i] = arg1;
    if (self->n == to->capacity)
        hand_over(self);
}

void ssk_trace_repeat(ssk_trace_t *self, int64_t time, int64_t step, int64_t n, int32_t kind, int32_t iteration)
{
    if (self->recorder.capacity == 0) {
        self->n += (size_t)n;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        ssk_trace_store(self, time + i * step, kind, SSK_NONE, SSK_NONE, iteration, 0, 0);
}

int ssk_trace_verify(const ssk_trace_t *self)
{
    return self->recorder.capacity == 0 || self->n < self->recorder.capacity ? SSK_OK : SSK_ERR_INVARIANT;
}

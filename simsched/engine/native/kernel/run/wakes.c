#include "run/wakes.h"

#include "heap.h"

void ssk_wakes_init(ssk_wakes_t *self)
{
    memset(self, 0, sizeof(*self));
}

void ssk_wakes_free(ssk_wakes_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->heap);
    ssk_wakes_init(self);
}

void ssk_wakes_clear(ssk_wakes_t *self)
{
    self->n = 0;
    self->n_asked = 0;
}

static bool is_before(const ssk_wake_t *a, const ssk_wake_t *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->rank < b->rank || (a->rank == b->rank && a->number < b->number);
}

int ssk_wakes_add(ssk_wakes_t *self, const ssk_allocator_t *allocator, ssk_wake_t added)
{
    int status = ssk_grow(allocator, &self->heap, &self->capacity, self->n + 1, sizeof(*self->heap));
    if (status != SSK_OK)
        return status;
    added.number = self->n_asked++;
    SSK_HEAP_ADD(self->heap, self->n, added, is_before);
    return SSK_OK;
}

int64_t ssk_wakes_take(ssk_wakes_t *self)
{
    assert(self->n > 0);
    int64_t tag = self->heap[0].tag;
    SSK_HEAP_DROP(self->heap, self->n, is_before);
    return tag;
}

int64_t ssk_wakes_first_due(const ssk_wakes_t *self, int64_t happened)
{
    int64_t first = SSK_NO_TIMER;
    for (size_t i = 0; i < self->n; i++)
        if (!ssk_wake_rests(&self->heap[i], happened))
            first = ssk_min(first, self->heap[i].time);
    return first;
}

void ssk_wakes_put_off(ssk_wakes_t *self, int64_t time)
{
    assert(self->n > 0 && time >= self->heap[0].time);
    ssk_wake_t later = self->heap[0];
    later.time = time;
    SSK_HEAP_DROP(self->heap, self->n, is_before);
    SSK_HEAP_ADD(self->heap, self->n, later, is_before);
}

int ssk_wakes_verify(const ssk_wakes_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        const ssk_wake_t *wake = &self->heap[i];
        if (wake->number < 0 || wake->number >= self->n_asked)
            return SSK_ERR_INVARIANT;
        if (i > 0 && !is_before(&self->heap[(i - 1) / 2], wake))
            return SSK_ERR_INVARIANT;
    }
    return SSK_OK;
}

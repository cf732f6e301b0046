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

int ssk_wakes_add(ssk_wakes_t *self, const ssk_allocator_t *allocator, int64_t time, int64_t rank, int64_t tag)
{
    int status = ssk_grow(allocator, &self->heap, &self->capacity, self->n + 1, sizeof(*self->heap));
    if (status != SSK_OK)
        return status;
    ssk_wake_t added = {.time = time, .rank = rank, .number = self->n_asked++, .tag = tag};
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

#include "flows/calendar.h"

#define ARITY SSK_CALENDAR_ARITY

int ssk_calendar_alloc(ssk_calendar_t *self, const ssk_allocator_t *allocator, int32_t n_slots)
{
    self->n = 0;
    self->n_slots = n_slots;
    self->place = NULL;
    self->heap = ssk_new(allocator, (size_t)n_slots, sizeof(*self->heap));
    if (self->heap == NULL)
        return SSK_ERR_MEMORY;
    self->place = ssk_new(allocator, (size_t)n_slots, sizeof(*self->place));
    if (self->place == NULL)
        return SSK_ERR_MEMORY;
    for (int32_t slot = 0; slot < n_slots; slot++)
        self->place[slot] = -1;
    return SSK_OK;
}

void ssk_calendar_free(ssk_calendar_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->heap);
    ssk_delete(allocator, self->place);
    self->heap = NULL;
    self->place = NULL;
}

/* Equal times are rare; which one is earlier is as good as random, and so is not jumped on. */
SSK_ALWAYS_INLINE bool is_before(ssk_entry_t a, ssk_entry_t b)
{
    if (a.time == b.time)
        return a.lag > b.lag || (a.lag == b.lag && a.rank < b.rank);
    return a.time < b.time;
}

/* The first of the entries child to child + 3, all of which exist. */
SSK_ALWAYS_INLINE int32_t first_of_four(const ssk_entry_t *heap, int32_t child)
{
    int32_t a = is_before(heap[child + 1], heap[child]) ? child + 1 : child;
    int32_t b = is_before(heap[child + 3], heap[child + 2]) ? child + 3 : child + 2;
    return is_before(heap[b], heap[a]) ? b : a;
}

SSK_ALWAYS_INLINE void sift_up(ssk_calendar_t *self, int32_t i, ssk_entry_t entry)
{
    ssk_entry_t *heap = self->heap;
    while (i > 0) {
        int32_t parent = (i - 1) / ARITY;
        if (!is_before(entry, heap[parent]))
            break;
        heap[i] = heap[parent];
        self->place[heap[i].slot] = i;
        i = parent;
    }
    heap[i] = entry;
    self->place[entry.slot] = i;
}

SSK_ALWAYS_INLINE void sift_down(ssk_calendar_t *self, int32_t i, ssk_entry_t entry)
{
    ssk_entry_t *heap = self->heap;
    int32_t n = self->n;
    for (;;) {
        int32_t child = ARITY * i + 1;
        int32_t best = child;
        if (child + ARITY <= n) {
            best = first_of_four(heap, child);
        } else if (child >= n) {
            break;
        } else {
            for (int32_t other = child + 1; other < n; other++)
                if (is_before(heap[other], heap[best]))
                    best = other;
        }
        if (!is_before(heap[best], entry))
            break;
        heap[i] = heap[best];
        self->place[heap[i].slot] = i;
        i = best;
    }
    heap[i] = entry;
    self->place[entry.slot] = i;
}

void ssk_calendar_set(ssk_calendar_t *self, int32_t slot, int64_t time, double lag, int32_t rank)
{
    ssk_entry_t entry = {time, lag, rank, slot};
    int32_t i = self->place[slot];
    if (i < 0)
        sift_up(self, self->n++, entry);
    else if (is_before(entry, self->heap[i]))
        sift_up(self, i, entry);
    else
        sift_down(self, i, entry);
}

void ssk_calendar_clear(ssk_calendar_t *self, int32_t slot)
{
    int32_t i = self->place[slot];
    if (i < 0)
        return;
    self->place[slot] = -1;
    ssk_entry_t last = self->heap[--self->n];
    if (i == self->n)
        return;
    if (is_before(last, self->heap[i]))
        sift_up(self, i, last);
    else
        sift_down(self, i, last);
}

int ssk_calendar_verify(const ssk_calendar_t *self)
{
    int32_t placed = 0;
    for (int32_t slot = 0; slot < self->n_slots; slot++) {
        int32_t i = self->place[slot];
        if (i < 0)
            continue;
        if (i >= self->n || self->heap[i].slot != slot)
            return SSK_ERR_INVARIANT;
        placed++;
    }
    for (int32_t i = 1; i < self->n; i++)
        if (is_before(self->heap[i], self->heap[(i - 1) / ARITY]))
            return SSK_ERR_INVARIANT;
    return placed == self->n ? SSK_OK : SSK_ERR_INVARIANT;
}

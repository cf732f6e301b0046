/*
 * Calendar of flow classes: the end of each class's first flow, by (time, longest lag, worker).
 *
 * An indexed 4-ary heap with at most one entry per class. Ties are decided by the worker, never by the order of
 * insertion. (The timers of the workers, where ties follow from the place, are in timers.h.)
 *
 * Invariants: place[heap[i].slot] == i for all i < n; place is -1 for all other slots; no entry is before its parent.
 */
#ifndef SSK_CALENDAR_H
#define SSK_CALENDAR_H

#include "base.h"

#define SSK_CALENDAR_ARITY 4 /* children of a node */

typedef struct {
    int64_t time;
    double lag;   /* how long before `time` the flow really ends, in ps */
    int32_t rank; /* worker; decides ties */
    int32_t slot; /* class */
} ssk_entry_t;

typedef struct {
    ssk_entry_t *heap;
    int32_t *place;
    int32_t n, n_slots;
} ssk_calendar_t;

int ssk_calendar_alloc(ssk_calendar_t *self, const ssk_allocator_t *allocator, int32_t n_slots) SSK_CHECK_RESULT;
void ssk_calendar_free(ssk_calendar_t *self, const ssk_allocator_t *allocator);
int ssk_calendar_verify(const ssk_calendar_t *self) SSK_CHECK_RESULT;

/* Makes (time, lag, rank) the event of a slot, whether it had one or not. O(log n). */
void ssk_calendar_set(ssk_calendar_t *self, int32_t slot, int64_t time, double lag, int32_t rank);

/* Removes the event of a slot, if it has one. O(log n). */
void ssk_calendar_clear(ssk_calendar_t *self, int32_t slot);

/* Time of the first event, SSK_NEVER when there is none. */
static inline int64_t ssk_calendar_time(const ssk_calendar_t *self)
{
    return self->n > 0 ? self->heap[0].time : SSK_NEVER;
}

#endif

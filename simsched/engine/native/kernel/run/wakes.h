/*
 * Wakes: the times at which the policy wants to be asked.
 *
 * A binary heap by (time, rank, number), the number counting requests: of those of one instant the lowest rank comes
 * first, of equal ranks the one that was asked for first.
 *
 * Invariants: no wake is before its parent in the heap; numbers are below n_asked.
 */
#ifndef SSK_WAKES_H
#define SSK_WAKES_H

#include "run/timers.h"

typedef struct {
    int64_t time, rank, number;
    int64_t tag;          /* the policy's */
    int64_t step_ps;      /* by which it is put off while nothing happens; 0 where it is not */
    int64_t happened;     /* how many events had happened when it was asked for */
} ssk_wake_t;

typedef struct {
    ssk_wake_t *heap;
    size_t capacity, n;
    int64_t n_asked;
} ssk_wakes_t;

void ssk_wakes_init(ssk_wakes_t *self);
void ssk_wakes_free(ssk_wakes_t *self, const ssk_allocator_t *allocator);
int ssk_wakes_verify(const ssk_wakes_t *self) SSK_CHECK_RESULT;

/* Forgets all wakes. */
void ssk_wakes_clear(ssk_wakes_t *self);

/* Adds a wake; its number is set here. */
int ssk_wakes_add(ssk_wakes_t *self, const ssk_allocator_t *allocator, ssk_wake_t added) SSK_CHECK_RESULT;

/* Removes the first wake, of which there is one, and returns its tag. */
int64_t ssk_wakes_take(ssk_wakes_t *self);

/* Tells whether a wake may be put off, `happened` events having happened by now. */
static inline bool ssk_wake_rests(const ssk_wake_t *wake, int64_t happened)
{
    return wake->step_ps > 0 && wake->happened == happened;
}

/* Time of the first wake that may not be put off, SSK_NO_TIMER when there is none. */
int64_t ssk_wakes_first_due(const ssk_wakes_t *self, int64_t happened) SSK_CHECK_RESULT;

/* Puts off the first wake, of which there is one, to a later time; it keeps its number. */
void ssk_wakes_put_off(ssk_wakes_t *self, int64_t time);

#endif

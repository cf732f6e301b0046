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

#include "base.h"

typedef struct {
    int64_t time, rank, number;
    int64_t tag; /* the policy's */
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

int ssk_wakes_add(ssk_wakes_t *self, const ssk_allocator_t *allocator, int64_t time, int64_t rank,
                  int64_t tag) SSK_CHECK_RESULT;

/* Removes the first wake, of which there is one, and returns its tag. */
int64_t ssk_wakes_take(ssk_wakes_t *self);

#endif

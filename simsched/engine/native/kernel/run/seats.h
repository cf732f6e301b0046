/*
 * Seats: what comes with the hardware thread of each worker. The arrays of the problem that say so are replaced by copies
 * of which two entries can be swapped.
 *
 * Invariant: the entries are those of the problem that was given, in another order of workers, the same for all arrays.
 */
#ifndef SSK_SEATS_H
#define SSK_SEATS_H

#include "base.h"

typedef struct {
    int32_t *core, *module, *domain, *kind, *cache; /* cache: n_levels x n_workers */
    double *rate;                          /* n_workers x n_smt */
} ssk_seats_t;

/* Copies the arrays of a problem and makes it refer to the copies. */
int ssk_seats_alloc(ssk_seats_t *self, const ssk_allocator_t *allocator, ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_seats_free(ssk_seats_t *self, const ssk_allocator_t *allocator);

/* Gives each of two workers what came with the other's thread. */
void ssk_seats_swap(ssk_seats_t *self, const ssk_problem_t *problem, int32_t first, int32_t second);

#endif

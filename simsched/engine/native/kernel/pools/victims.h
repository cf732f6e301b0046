/*
 * Victims of steps with ranks or weights: who is tried next, and which workers may try an instance.
 *
 * The plan lists the candidates of every such step by worker, in the order of the law. A search opens the row of its
 * worker and draws from it until it finds an instance that is not empty; what has been drawn is not drawn again. Only
 * the candidates of one rank are at hand at a time; with weights there is one rank.
 *
 * Invariants: left[0..n_left - 1] are the candidates of the present rank that have not been drawn, weight[] theirs and
 * total the sum of these; worker w is in the set of (list l, instance i) if and only if i is in row l * n_workers + w.
 */
#ifndef SSK_VICTIMS_H
#define SSK_VICTIMS_H

#include "base.h"

typedef struct {
    uint64_t *reaching; /* sets of workers: n_lists x n_instances */
    size_t reaching_capacity;
    int32_t *left, *weight;
    int32_t n_instances; /* most of any scope */
    size_t n_words;      /* of a set of workers */
    /* the search that is going on */
    const int32_t *listed, *value; /* the rest of the row */
    int64_t n_listed;
    int32_t n_left;
    uint32_t total;
    bool by_weight;
} ssk_victims_t;

int ssk_victims_alloc(ssk_victims_t *self, const ssk_allocator_t *allocator,
                      const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_victims_free(ssk_victims_t *self, const ssk_allocator_t *allocator);

/* Takes over the lists of a plan that has been checked. */
int ssk_victims_reset(ssk_victims_t *self, const ssk_allocator_t *allocator, const ssk_order_t *order,
                      int32_t n_workers) SSK_CHECK_RESULT;
int ssk_victims_verify(const ssk_victims_t *self, const ssk_order_t *order, int32_t n_workers) SSK_CHECK_RESULT;

/* Begins a search in a row of a plan, a list's of a worker. */
void ssk_victims_open(ssk_victims_t *self, const ssk_order_t *order, int32_t choice, int64_t row);

/* Draws the next candidate; SSK_NONE when all have been drawn. O(those left of its rank) with weights, else O(1). */
int32_t ssk_victims_draw(ssk_victims_t *self, const ssk_random_t *random);

/* The workers that may try an instance by a step with this list. */
static inline const uint64_t *ssk_victims_reaching(const ssk_victims_t *self, int32_t list, int32_t instance)
{
    return &self->reaching[((size_t)list * (size_t)self->n_instances + (size_t)instance) * self->n_words];
}

#endif

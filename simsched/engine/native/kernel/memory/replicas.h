/*
 * Replicas of blocks: nodes that hold a block besides its home until it is written.
 *
 * Invariants: node holds n_each entries per block, nodes or SSK_NONE, none of them the home; n_each is 0 when no block
 * has replicas, and then nothing else is used.
 */
#ifndef SSK_REPLICAS_H
#define SSK_REPLICAS_H

#include "base.h"

typedef struct {
    int32_t n_each;
    int32_t *node; /* n_blocks x n_each */
} ssk_replicas_t;

int ssk_replicas_alloc(ssk_replicas_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_replicas_free(ssk_replicas_t *self, const ssk_allocator_t *allocator);

/* Tells whether a node holds a replica of a block. */
bool ssk_replicas_has(const ssk_replicas_t *self, int32_t block, int32_t node);

/* The nearest node to a domain of a block's home and its replicas. */
int32_t ssk_replicas_nearest(const ssk_replicas_t *self, const ssk_problem_t *problem, int32_t block, int32_t home,
                             int32_t domain);

#endif

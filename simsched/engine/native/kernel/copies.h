/*
 * Copies of blocks in the memories of processors and devices; docs/semantics.md, "Copied data".
 *
 * Where a machine copies data, a worker computes on blocks that are valid on its own node. What is not is wanted there
 * and copied, in the order in which it was wanted. A device has two engines, into it and out of it, and each carries
 * out one copy at a time; engine e has the flows and timers of entity n_workers + e, with e = 2 node for copies into a
 * node and 2 node + 1 for copies out of a device to a node that is none.
 *
 * Invariants: home[b] is among the nodes on which b is valid, unless there are none; is_wanted says what is in wanted;
 * n_coming[place] is the number of running copies to a place that are not stale; claimed_bytes never exceeds a node's
 * capacity, so that whoever has claimed its blocks gets them in the end. A place is block * n_nodes + node.
 */
#ifndef SSK_COPIES_H
#define SSK_COPIES_H

#include "base.h"

typedef struct {
    int32_t block; /* SSK_NONE: the engine does nothing */
    int32_t source, target;
    bool is_stale; /* the block has been written since the copy began */
} ssk_copy_t;

enum { SSK_WANTED_ROOM = 1, SSK_WANTED_COPY = 2 };

typedef struct {
    int32_t worker, next;
} ssk_waiter_t;

typedef struct {
    int32_t n_nodes; /* 0 where data are not copied */
    int32_t n_blocks;
    uint64_t *valid;    /* per block: bit of every node on which it is valid */
    int32_t *claims;    /* per place: tasks that use the block there */
    int32_t *readers;   /* per place: running copies from there */
    int32_t *n_coming;  /* per place */
    int64_t *last_use;  /* per place: number of its last use */
    int32_t *waiter_of; /* per place: first entry in waiters, -1 */
    uint8_t *is_wanted; /* per place: SSK_WANTED_ROOM or SSK_WANTED_COPY, 0 when it is not wanted */
    int64_t n_uses;
    int64_t *wanted; /* places, in their order */
    size_t n_wanted, wanted_capacity;
    ssk_copy_t *engine; /* 2 n_nodes */
    uint8_t *is_busy;   /* 2 n_nodes: engines of devices */
    int32_t *saving;    /* per node: block that was last copied away to make room, -1 */
    int32_t *missing;   /* per worker: blocks that it waits for, and 1 for its turn to claim */
    int32_t *turn_next; /* per worker: who is next to claim on its node, -1 */
    int32_t *turn_head, *turn_tail; /* per node: workers that wait for their turn, -1 */
    int64_t *claimed_bytes;         /* per node: blocks with claims */
    ssk_waiter_t *waiters;
    int32_t n_waiters, free_waiter;
    size_t waiters_capacity;
} ssk_copies_t;

int ssk_copies_alloc(ssk_copies_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
    SSK_CHECK_RESULT;
void ssk_copies_free(ssk_copies_t *self, const ssk_allocator_t *allocator);
int ssk_copies_verify(const ssk_copies_t *self, const int32_t *home) SSK_CHECK_RESULT;

#endif

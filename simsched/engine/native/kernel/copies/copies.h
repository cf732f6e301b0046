/*
 * Copies of blocks in the memory spaces of hosts and devices; docs/semantics.md, rules CD.
 *
 * Where a machine has several memory spaces, a worker computes on blocks that are valid in one that it reaches. What is
 * not is wanted in its own space and copied. Between every two spaces there is a lane in each direction: lane
 * source * n_spaces + target has the flows and timers of entity n_workers + lane; the lane from a space to itself is for
 * what wants room alone. On which node of a space a block is, or has been last, says node_at. What is wanted of
 * a lane is sorted: first what is urgent, then prefetches by the priority of their tasks, then what is brought back to
 * the host, each in the order in which it was wanted. A few copies of a lane at a time are handed over, which gives
 * them room; they are carried out in the order of handing over, as far as they exclude each other.
 *
 * Invariants: home[b] is one of the nodes on which b is valid, unless there are none; is_wanted says what is wanted of
 * the lanes, and wanted_from the source of its lane; n_handed[lane] counts the running copy of a lane, those in handed and the one that a driver prepares;
 * so do copies in ended[space], which the driver of a space has not noticed; a place is in the list of fresh_head of its space,
 * which begins with fresh_head and goes on with fresh_next, unless it is SSK_NOT_FRESH;
 * n_coming[place] is the number of copies to a place that have been handed over and are not stale; claimed_bytes never
 * exceeds a space's capacity, so that whoever has claimed its blocks gets them in the end. A place is block * n_spaces + space.
 */
#ifndef SSK_COPIES_H
#define SSK_COPIES_H

#include "base.h"

typedef struct {
    int32_t block; /* SSK_NONE: the lane is free */
    int32_t source, target; /* spaces */
    int32_t source_node, target_node;
    bool is_stale; /* the block has been written since the copy began */
} ssk_copy_t;

enum { SSK_WANTED_ROOM = 1, SSK_WANTED_COPY = 2 };
enum { SSK_URGENT, SSK_PREFETCH, SSK_BRING_BACK, SSK_N_RANKS }; /* rising ranks of what is wanted */

typedef struct {
    int64_t place;
    int32_t rank;
    int32_t priority; /* of the task for which it is prefetched, 0 with other ranks */
    int32_t near;     /* domain whose touch order finds a node */
} ssk_want_t;

typedef struct {
    ssk_want_t *wants; /* in their order */
    size_t n, capacity;
} ssk_wants_t;

typedef struct {
    ssk_copy_t *copies; /* in their order */
    size_t n, capacity;
} ssk_ended_t;

typedef struct {
    int32_t worker, next;
} ssk_waiter_t;

typedef struct {
    int32_t block, space;
} ssk_use_t;

typedef struct {
    ssk_use_t *uses; /* in the order of the accesses */
    size_t n, capacity;
} ssk_uses_t;

/* Whether a block has become valid at a place in the round of its space, and is still; then it is in a list. */
enum { SSK_NOT_FRESH, SSK_FRESH, SSK_DROPPED };

typedef struct {
    int32_t n_spaces; /* 0 where data are not copied */
    int32_t n_blocks, n_workers;
    int64_t *capacity;  /* per space */
    ssk_uses_t *used;   /* per worker: what it has claimed */
    uint64_t *valid;    /* per block: bit of every space in which it is valid */
    int32_t *node_at;   /* per place: node, -1 */
    int32_t *claims;    /* per place: tasks that use the block there */
    int32_t *readers;   /* per place: copies from there that have been handed over */
    int32_t *n_coming;  /* per place */
    int64_t *last_use;  /* per place: number of its last use */
    int32_t *waiter_of; /* per place: first entry in waiters, -1 */
    uint8_t *is_wanted; /* per place: SSK_WANTED_ROOM or SSK_WANTED_COPY, 0 when it is not wanted */
    int64_t n_uses;
    int32_t *wanted_from; /* per place */
    ssk_wants_t *wanted;  /* per lane */
    size_t n_wanted;      /* of all lanes */
    size_t *n_served;     /* per space: of the lanes that it serves */
    bool has_more;        /* something has become wanted since lanes were gone through */
    ssk_copy_t *lane;     /* n_spaces * n_spaces: the running copy */
    int32_t *n_handed;    /* per lane */
    ssk_copy_t *handed;   /* handed over and not begun, in their order */
    size_t n_waiting, handed_capacity;
    bool may_begin;       /* one has been handed over or has ended since these were gone through */
    ssk_ended_t *ended;   /* per space */
    uint8_t *is_fresh;    /* per place */
    int32_t *fresh_next;  /* per place: the next block in the list of its space, -1 */
    int32_t *fresh_head;  /* per space: block, -1 */
    /* what keeps a copy back: those before it that have not ended */
    uint8_t *has_lane, *has_target, *has_end; /* per lane; per space; per space: of a copy between two devices */
    int32_t *saving;    /* per space: block that was last copied away to make room, -1 */
    int32_t *missing;   /* per worker: blocks that it waits for, and 1 for its turn to claim */
    int32_t *turn_next; /* per worker: who is next to claim in its space, -1 */
    int32_t *turn_head, *turn_tail; /* per space: workers that wait for their turn, -1 */
    int64_t *claimed_bytes;         /* per space: blocks with claims */
    ssk_waiter_t *waiters;
    int32_t n_waiters, free_waiter;
    size_t waiters_capacity;
} ssk_copies_t;

static inline int64_t ssk_place(const ssk_copies_t *self, int32_t block, int32_t space)
{
    return (int64_t)block * self->n_spaces + space;
}

static inline bool ssk_is_valid(const ssk_copies_t *self, int32_t block, int32_t space)
{
    return (self->valid[block] >> space & 1) != 0;
}

/* The space that serves the lane between two: a device those into it, and from it to what is none. */
static inline int32_t ssk_server_of(const ssk_problem_t *problem, int32_t source, int32_t target)
{
    return !problem->space_is_device[target] && problem->space_is_device[source] ? source : target;
}

/* Whether a block is wanted or on its way to a place. */
static inline bool ssk_is_coming(const ssk_copies_t *self, int64_t place)
{
    return self->is_wanted[place] || self->n_coming[place] > 0;
}

/* Notes that a block is used. */
static inline void ssk_use_copy(ssk_copies_t *self, int64_t place)
{
    self->last_use[place] = ++self->n_uses;
}

/* Whether something that becomes wanted now is served before `other`, which has been wanted earlier. */
static inline bool ssk_want_precedes(const ssk_want_t *want, const ssk_want_t *other)
{
    return want->rank != other->rank ? want->rank < other->rank : want->priority > other->priority;
}

int ssk_copies_alloc(ssk_copies_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
    SSK_CHECK_RESULT;
void ssk_copies_free(ssk_copies_t *self, const ssk_allocator_t *allocator);
/* `preparing`: per space, what its driver prepares. */
int ssk_copies_verify(const ssk_copies_t *self, const ssk_problem_t *problem, const ssk_copy_t *preparing,
                      const int32_t *home) SSK_CHECK_RESULT;

#endif

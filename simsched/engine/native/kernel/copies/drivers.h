/*
 * What handing copies over costs the drivers of devices; docs/semantics.md, rules CD.
 *
 * Invariants: a device has a copy in preparing (block is not SSK_NONE) or is looking exactly while the timer of the lane
 * from it to itself runs; what it prepares has its room, counts as coming and, unless it goes from a space to itself, as
 * handed over. Between two events deferred[space] is empty, and its round at its beginning, unless the driver of the space
 * prepares something or looks. A block has a place on a device from its first copy there until it makes room for others;
 * the places of a chunk and what is left of it never exceed the chunk. n_awaited[space] counts the workers of the space
 * that execute a synchronous task whose blocks they have claimed; no round of the space begins while it is not 0.
 */
#ifndef SSK_DRIVERS_H
#define SSK_DRIVERS_H

#include "copies/copies.h"

typedef struct {
    int64_t place;
    int32_t what; /* SSK_WANTED_ROOM or SSK_WANTED_COPY */
    int32_t near;
} ssk_deferral_t;

typedef struct {
    ssk_deferral_t *items;
    size_t n, capacity;
} ssk_deferrals_t;

/* How far a space has gone through the lanes that it serves. */
typedef struct {
    int32_t visit;    /* number of the next of its visits */
    int32_t n_left;   /* what it may still hand over there; SSK_NONE before it has come there */
    int32_t n_passed; /* what has lacked room there */
    bool has_served;  /* something has been handed over in this round */
    bool is_full;     /* something has lacked room in this round */
    bool is_looking;  /* the driver looks at what is wanted before it goes round */
    bool has_looked;
} ssk_round_t;

/* A lane that a space serves, and the rank of what it hands over there. */
typedef struct {
    int32_t lane, rank;
} ssk_visit_t;

typedef struct {
    int32_t n_spaces;       /* 0 where data are not copied */
    ssk_visit_t *visits;    /* of a round of each space, in their order */
    int32_t *visit_ptr;     /* n_spaces + 1: where those of each begin */
    ssk_round_t *rounds;    /* per space */
    int32_t *n_awaited;     /* per space: kernels whose end its driver waits for */
    ssk_copy_t *preparing;  /* per space; from a space to itself: room for a block */
    uint8_t *has_place;     /* per place */
    int64_t *left_bytes;    /* per space: of its last chunk */
    int64_t *freed_bytes;   /* per space: of blocks that have made room */
    int64_t allocates_until;
    ssk_deferrals_t *deferred; /* per space: what has become urgent while its driver prepares something */
} ssk_drivers_t;

int ssk_drivers_alloc(ssk_drivers_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
    SSK_CHECK_RESULT;
void ssk_drivers_free(ssk_drivers_t *self, const ssk_allocator_t *allocator);

/* The device whose driver hands a copy over, SSK_NONE when there is none. */
static inline int32_t ssk_driver_of(const ssk_problem_t *problem, int32_t source, int32_t target)
{
    if (problem->space_is_device[target])
        return target;
    return problem->space_is_device[source] ? source : SSK_NONE;
}

static inline ssk_round_t ssk_new_round(void)
{
    return (ssk_round_t){.visit = 0, .n_left = SSK_NONE};
}

static inline bool ssk_driver_is_busy(const ssk_drivers_t *self, int32_t driver)
{
    return driver != SSK_NONE && self->preparing[driver].block != SSK_NONE;
}

/* Finds what preparing a copy takes, and a place for it, at a time. */
int64_t ssk_preparation_ps(ssk_drivers_t *self, const ssk_problem_t *problem, ssk_copy_t copy, int64_t now);

/* Notes that a block has made room for others. */
void ssk_free_place(ssk_drivers_t *self, const ssk_problem_t *problem, int32_t block, int32_t space);

/* Notes what has become urgent in a space whose driver is busy. */
int ssk_defer(ssk_drivers_t *self, const ssk_allocator_t *allocator, int32_t space, ssk_deferral_t deferral)
    SSK_CHECK_RESULT;

#endif

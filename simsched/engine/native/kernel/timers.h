/*
 * Timers of the workers: the earliest of up to one per worker, in a tournament tree.
 *
 * The leaves are the workers' times, each inner node is the earlier of its two children, so that the root is the next
 * timer. Setting a timer replays the matches on the way to the root: log2(workers) steps of a comparison and a
 * conditional move, without a jump that could be mispredicted and with loads that do not wait for each other. A heap
 * needs fewer steps but decides in each where to go next.
 *
 * Ties need no rank: all workers below a left child are smaller than those below its sibling, so the left child wins.
 *
 * The first timer is taken with ssk_timers_fire() and ssk_timers_settle() around its handling, because who handles it
 * mostly sets the same timer again.
 *
 * Invariants: time[i] == min(time[2 i], time[2 i + 1]) for inner nodes, and worker[i] is where it comes from; a leaf
 * without a timer has SSK_NO_TIMER; n_set is the number of leaves that have one.
 */
#ifndef SSK_TIMERS_H
#define SSK_TIMERS_H

#include "base.h"

#define SSK_NO_TIMER INT64_MAX

typedef struct {
    int64_t *time;   /* 2 * size nodes; node 1 is the root, leaf of worker w is node size + w */
    int32_t *worker; /* which leaf has won */
    int32_t size;    /* power of two */
    int32_t n_set;
    int32_t firing;  /* worker whose timer is being handled and has not been set anew, -1 */
} ssk_timers_t;

int ssk_timers_alloc(ssk_timers_t *self, const ssk_allocator_t *allocator, int32_t n_workers) SSK_CHECK_RESULT;
void ssk_timers_free(ssk_timers_t *self, const ssk_allocator_t *allocator);
int ssk_timers_verify(const ssk_timers_t *self) SSK_CHECK_RESULT;

/* Sets a worker's timer, whether it was set or not; SSK_NO_TIMER removes it. */
void ssk_timers_set(ssk_timers_t *self, int32_t worker, int64_t time);

/* Time of the first timer, SSK_NO_TIMER when none is set. */
static inline int64_t ssk_timers_first(const ssk_timers_t *self)
{
    return self->time[1];
}

static inline bool ssk_timers_has(const ssk_timers_t *self, int32_t worker)
{
    return self->time[self->size + worker] != SSK_NO_TIMER;
}

/* Returns the worker of the first timer, which stays until it is set or ssk_timers_settle() removes it. */
static inline int32_t ssk_timers_fire(ssk_timers_t *self)
{
    self->firing = self->worker[1];
    return self->firing;
}

static inline void ssk_timers_settle(ssk_timers_t *self)
{
    if (self->firing >= 0)
        ssk_timers_set(self, self->firing, SSK_NO_TIMER);
}

#endif

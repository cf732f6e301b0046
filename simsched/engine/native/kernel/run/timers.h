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
 * A new timer that comes before all others stays in front of the tree. Where most workers wait for memory, the few
 * timers are short costs and latencies, and mostly the one that was set last is the next to fire.
 *
 * The first timer is taken with ssk_timers_fire() and ssk_timers_settle() around its handling, because who handles it
 * mostly sets the same timer again.
 *
 * Invariants: time[i] == min(time[2 i], time[2 i + 1]) for inner nodes, and worker[i] is where it comes from; a leaf
 * without a timer has SSK_NO_TIMER, as has the leaf of front, and front_time when front is -1; n_set is the number of
 * timers. While a timer from the tree is being handled, its leaf still shows when it fired.
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
    int32_t front;   /* worker whose timer is not in the tree, -1 */
    int64_t front_time;
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
    return ssk_min(self->front_time, self->time[1]);
}

static inline bool ssk_timers_has(const ssk_timers_t *self, int32_t worker)
{
    return self->time[self->size + worker] != SSK_NO_TIMER || worker == self->front;
}

/* When a worker's timer fires; it has one. */
static inline int64_t ssk_timers_time(const ssk_timers_t *self, int32_t worker)
{
    return worker == self->front ? self->front_time : self->time[self->size + worker];
}

static inline bool ssk_timers_is_before(int64_t time, int32_t worker, int64_t other_time, int32_t other)
{
    return time < other_time || (time == other_time && worker < other);
}

/* There is a timer. Returns the worker of the first one, which is taken out now or, from the tree, when it is set or settled. */
static inline int32_t ssk_timers_fire(ssk_timers_t *self)
{
    assert(self->n_set > 0);
    int32_t worker = self->front;
    if (!ssk_timers_is_before(self->front_time, worker, self->time[1], self->worker[1])) {
        self->firing = self->worker[1];
        return self->firing;
    }
    self->front = SSK_NONE;
    self->front_time = SSK_NO_TIMER;
    self->n_set--;
    return worker;
}

static inline void ssk_timers_settle(ssk_timers_t *self)
{
    if (self->firing >= 0)
        ssk_timers_set(self, self->firing, SSK_NO_TIMER);
}

#endif

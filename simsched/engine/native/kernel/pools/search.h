#ifndef SSK_SEARCH_H
#define SSK_SEARCH_H

#include "base.h"

int ssk_search(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
/*
 * Puts a task into its pool and wakes a worker. *clock is the time at which the pusher reaches the pool and becomes the
 * time at which it goes on; pushes without pusher (SSK_NONE) do not wait for locks.
 */
int ssk_push(ssk_sim_t *sim, int32_t task, int32_t pusher, bool continuation, int64_t *clock) SSK_CHECK_RESULT;
/* Notes that a task is ready; returns its domain if that has expected no other one, SSK_NONE otherwise. */
int32_t ssk_note_ready(ssk_sim_t *sim, int32_t task);
/* Wakes the parked workers of a domain that may use a step now which asks for a supplied domain. */
void ssk_wake_supplied(ssk_sim_t *sim, int32_t domain);
/* Puts a task into a pool and wakes a worker. */
int ssk_enter(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance, int32_t pusher) SSK_CHECK_RESULT;
void ssk_wake(ssk_sim_t *sim, int32_t worker, int32_t party);
/* Calls one of the waiting workers that may take from a pool: wakes it, unless it is the one that ends a task. */
void ssk_wake_for(ssk_sim_t *sim, int32_t group, int32_t instance);
/* Calls another worker to the pool to which one has been called that does not take from it. */
void ssk_pass_on(ssk_sim_t *sim, int32_t worker);
void ssk_release_domain(ssk_sim_t *sim, int32_t task);
int32_t ssk_distance(const ssk_sim_t *sim, int32_t worker, int32_t scope, int32_t instance);
int64_t ssk_steal_cost(const ssk_sim_t *sim, int32_t distance);

#endif

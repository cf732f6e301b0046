/* What rules with expected ends have in common; see simsched.policy.parts.expected_ends. */
#ifndef SSK_CHOICES_H
#define SSK_CHOICES_H

#include "runtime/transfers.h"

/*
 * The member with the smallest fitness, of equal ones the first; every task has one that can execute it. `end_ps` tells
 * when a worker is expected to have ended what it has. *penalty_ret is the time of the copies that the task needs there.
 */
int32_t ssk_fittest(ssk_sim_t *sim, int32_t task, int32_t released, int64_t (*end_ps)(ssk_sim_t *sim, int32_t worker),
                    int64_t *penalty_ret);

/*
 * Removes and returns the one of the most urgent tasks of a worker's queue that lacks least on its node, of several the
 * first; SSK_NONE when the queue is empty.
 */
int32_t ssk_pop_ready(ssk_sim_t *sim, int32_t worker);

/* Expected time of a task on a worker. */
int64_t ssk_cost_ps(const ssk_sim_t *sim, int32_t task, int32_t worker);

#endif

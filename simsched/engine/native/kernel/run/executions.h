#ifndef SSK_EXECUTIONS_H
#define SSK_EXECUTIONS_H

#include "base.h"

/* Takes its task away from a worker that fails; returns the task if nobody else executes it, or SSK_NONE. */
int32_t ssk_lose_by_failure(ssk_sim_t *sim, int32_t worker);
/* Tells whether others execute the worker's task too. */
bool ssk_has_duplicates(const ssk_sim_t *sim, int32_t worker);
/* Lets `taker` take the task that a worker executes; *cost_ret is what that costs. */
int ssk_duplicate(ssk_sim_t *sim, int32_t worker, int32_t taker, int hook, int64_t *cost_ret) SSK_CHECK_RESULT;
int ssk_kill(ssk_sim_t *sim, int32_t worker, int hook) SSK_CHECK_RESULT;
/* Kills all executions of a task that has ended. */
void ssk_end_duplicates(ssk_sim_t *sim, int32_t task);

#endif

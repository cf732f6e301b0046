#ifndef SSK_DECISIONS_H
#define SSK_DECISIONS_H

#include "base.h"

/* Refuses a decision of a hook. */
int ssk_refuse(ssk_sim_t *sim, int hook, int reason) SSK_CHECK_RESULT;
/* Refuses a decision about a worker that is not executing, or where data are copied. */
int ssk_check_executing(ssk_sim_t *sim, int32_t worker, int hook) SSK_CHECK_RESULT;
/* Lets a worker push a task that it has lost. */
int ssk_push_back(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;
int ssk_ask_on_idle(ssk_sim_t *sim, int32_t worker, bool *has_snatched_ret) SSK_CHECK_RESULT;
int ssk_fire_policy_timer(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_wake_policy(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Asks the policy because of a wake or a move with this tag, and carries out what it decides. */
int ssk_tell_on_wake(ssk_sim_t *sim, int64_t tag) SSK_CHECK_RESULT;
/* Carries out the answer of a hook. */
int ssk_answer(ssk_sim_t *sim, const ssk_answer_t *answer, int hook) SSK_CHECK_RESULT;
/* Tells the policy that a worker begins to execute a body, and carries out what it decides. */
int ssk_tell_on_start(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_land(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Forgets flights and wakes. */
void ssk_forget_pending(ssk_sim_t *sim);

#endif

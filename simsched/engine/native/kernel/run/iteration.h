#ifndef SSK_ITERATION_H
#define SSK_ITERATION_H

#include "base.h"

void ssk_end_iteration(ssk_sim_t *sim);
int ssk_reach_boundary(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_arrive(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_next_copy(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_copy_ended(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;

#endif

#ifndef SSK_ITERATION_H
#define SSK_ITERATION_H

#include "base.h"

/* Ends the iteration when its last task has ended and no block is left to be moved. */
void ssk_end_iteration_if_done(ssk_sim_t *sim);
/* Fails unless a node has room for a block that is to be moved there. */
int ssk_check_room(ssk_sim_t *sim, int32_t node, int32_t block) SSK_CHECK_RESULT;
int ssk_reach_boundary(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_arrive(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_next_copy(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_copy_ended(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;

#endif

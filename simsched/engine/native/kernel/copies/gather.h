#ifndef SSK_GATHER_H
#define SSK_GATHER_H

#include "base.h"

int ssk_gather(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_gathered(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_give_back(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_prefetch(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker) SSK_CHECK_RESULT;
/* The node whose copy of a block a worker uses that has claimed it. */
int32_t ssk_used_node(const ssk_sim_t *sim, int32_t block, int32_t worker);
/* Notes that a worker has one thing less to wait for. */
void ssk_has_come(ssk_sim_t *sim, int32_t worker);

#endif

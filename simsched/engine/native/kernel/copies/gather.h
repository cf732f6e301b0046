#ifndef SSK_GATHER_H
#define SSK_GATHER_H

#include "base.h"

int ssk_gather(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_gathered(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_give_back(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_prefetch(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker) SSK_CHECK_RESULT;
/* Notes that a worker has one thing less to wait for. */
void ssk_has_come(ssk_sim_t *sim, int32_t worker);

#endif

#ifndef SSK_LIFE_H
#define SSK_LIFE_H

#include "base.h"

int ssk_begin_task(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_spawn(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_create_child(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_create(ssk_sim_t *sim, int32_t task, int32_t pusher, int64_t *clock) SSK_CHECK_RESULT;
int ssk_sync(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_end_task(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;

#endif

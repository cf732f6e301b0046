#ifndef SSK_HOMES_H
#define SSK_HOMES_H

#include "base.h"

bool ssk_has_room(const ssk_sim_t *sim, int32_t node, int32_t block);
/* Takes memory for a block from the system, gives it back. */
void ssk_take_memory(ssk_sim_t *sim, int32_t node, int32_t block);
void ssk_give_memory_back(ssk_sim_t *sim, int32_t node, int32_t block);
/* Lets a block that follows an access give up its home; returns whether a block has none. */
bool ssk_wants_home(ssk_sim_t *sim, int32_t block, int64_t written);
/* The node that an access to a block with a home goes to; only with replicas. A write leaves none of them. */
int32_t ssk_reached_node(ssk_sim_t *sim, int32_t block, int32_t domain, bool writes);
int ssk_touch_first(ssk_sim_t *sim, int32_t worker, int32_t block) SSK_CHECK_RESULT;
/* What happens to the blocks of pools when a worker creates a task, and when a task has ended. Only while is_pooling. */
int ssk_allocate_for(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;
int ssk_free_after(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;

#endif

#ifndef SSK_ROOMS_H
#define SSK_ROOMS_H

#include "base.h"

/* The node that a block tries first in a space: where it has been, else the first one near a domain. */
int32_t ssk_first_node(const ssk_sim_t *sim, int32_t block, int32_t space, int32_t near);
/* The first space that is no device, other than `space`; SSK_NONE when there is none. */
int32_t ssk_host_for(const ssk_sim_t *sim, int32_t space);
/* Drops least recently used copies until a node has room; *node_ret is that node, or SSK_NONE. */
int ssk_make_room(ssk_sim_t *sim, int32_t block, int32_t space, int32_t near, int32_t *node_ret) SSK_CHECK_RESULT;

#endif

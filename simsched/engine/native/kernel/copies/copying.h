#ifndef SSK_COPYING_H
#define SSK_COPYING_H

#include "copies/copies.h"

/* Asks for a block, or only for room for it, if it is not there and not asked for; `what` is one of SSK_WANTED_*. */
int ssk_want(ssk_sim_t *sim, int what, ssk_want_t want) SSK_CHECK_RESULT;
/* Hands over what is wanted as far as lanes have place, and starts what nothing keeps back. */
int ssk_start_copies(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Forgets the copy of a block in a space. */
void ssk_drop_copy(ssk_sim_t *sim, int32_t block, int32_t space);
/* Entities are lanes that copy, counted from n_workers on. */
int ssk_copy_moves(ssk_sim_t *sim, int32_t entity) SSK_CHECK_RESULT;
int ssk_copy_arrives(ssk_sim_t *sim, int32_t entity) SSK_CHECK_RESULT;

#endif

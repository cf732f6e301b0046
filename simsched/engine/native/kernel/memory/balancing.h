#ifndef SSK_BALANCING_H
#define SSK_BALANCING_H

#include "base.h"

int ssk_balance_begin(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* What an access does to the marks; the time that it waits for faults and for the block to move. Only with a period. */
void ssk_balance_first_touch(ssk_sim_t *sim, int32_t block);
int64_t ssk_balance_access(ssk_sim_t *sim, int32_t worker, int32_t block, int64_t n_bytes);

#endif

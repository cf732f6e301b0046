#ifndef SSK_COUPLING_H
#define SSK_COUPLING_H

#include "flows/flows.h"

/* Finds the classes whose rates may have changed and computes these rates. */
void ssk_sharing_update(ssk_flows_t *self);

/* Recomputes all rates without regard to slack and compares: SSK_OK or SSK_ERR_INVARIANT. */
int ssk_sharing_verify(const ssk_flows_t *self) SSK_CHECK_RESULT;

#endif

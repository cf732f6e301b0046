/* What a runtime expects of copies; see simsched.policy.parts.transfer_model. */
#ifndef SSK_TRANSFERS_H
#define SSK_TRANSFERS_H

#include "base.h"

/* Bytes of a task's data that lack something on a node. */
typedef struct {
    int64_t absent, unexpected, homeless; /* read and not valid there; of these not expected; all that have no place */
} ssk_missing_t;

ssk_missing_t ssk_missing_bytes(ssk_sim_t *sim, int32_t task, int32_t node);

/*
 * Expected time of bringing what a task reads to the node of a worker, one by one. What the task `released` has written
 * for the last time is not expected by the host yet.
 */
int64_t ssk_penalty_ps(ssk_sim_t *sim, int32_t task, int32_t worker, int32_t released);

#endif

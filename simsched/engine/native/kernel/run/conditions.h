/*
 * Conditions that change during a run: described rates of cores, and who has failed.
 *
 * Invariants: next is the number of the next change; failed has a bit for every worker that has failed; without
 * changes nothing is allocated.
 */
#ifndef SSK_CONDITIONS_H
#define SSK_CONDITIONS_H

#include "base.h"

typedef struct {
    int32_t next, n_failed;
    double *described;  /* n_cores x n_smt: operations per ps of a worker of each core, before any change */
    uint8_t *failed;    /* per worker */
    uint8_t *fails_now; /* per worker: working space of a change */
    uint8_t *were_heads; /* per worker: the same, head before it */
    int32_t *lost;      /* working space: tasks that go back to pools */
} ssk_conditions_t;

int ssk_conditions_alloc(ssk_conditions_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_conditions_free(ssk_conditions_t *self, const ssk_allocator_t *allocator);

int ssk_change_conditions(ssk_sim_t *sim) SSK_CHECK_RESULT;
void ssk_schedule_change(ssk_sim_t *sim);
/* Lets a worker take no part any more. */
void ssk_deactivate(ssk_sim_t *sim, int32_t worker);
/* Tells whether a pool was the own one of workers of which none is left; some worker has failed. */
bool ssk_is_dead(const ssk_sim_t *sim, int32_t group, int32_t instance);

#endif

#ifndef SSK_RUN_H
#define SSK_RUN_H

#include "run/sim.h"

/* Records why a run fails; returns the code. */
int ssk_fail(ssk_sim_t *sim, int code);

/* Puts off the time when the run is given up. */
static inline void ssk_note_progress(ssk_sim_t *sim)
{
    sim->deadline_ps = ssk_add_ps(sim->now, sim->problem.progress_limit_ps);
    sim->n_at_once = 0;
}

/* Records a trace event of the present instant. */
static inline void ssk_event(ssk_sim_t *sim, int32_t kind, int32_t worker, int32_t task, int64_t arg0, int64_t arg1)
{
    ssk_trace_add(&sim->trace, sim->now, kind, worker, task, sim->iteration, arg0, arg1);
}

/* How many events have happened: all but looks of the policy that decided nothing but to rest. */
static inline int64_t ssk_n_happened(const ssk_sim_t *sim)
{
    return sim->events_handled - sim->n_idle_looks;
}

/* Sets the time of an event without a worker; SSK_NO_TIMER removes it. */
static inline void ssk_set_rare(ssk_sim_t *sim, int which, int64_t time)
{
    sim->rare_time[which] = time;
    sim->first_rare_time = SSK_NO_TIMER;
    for (int i = 0; i < SSK_N_RARE; i++)
        sim->first_rare_time = ssk_min(sim->first_rare_time, sim->rare_time[i]);
}

#endif

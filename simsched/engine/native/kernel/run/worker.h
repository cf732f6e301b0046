/*
 * A worker is a small state machine. Handling an event runs ssk_worker_go(), which carries out one action after the
 * other until the worker waits again; an action returns the next one, SSK_WAIT, or a negative error. Waiting means: a
 * timer is set and `then` says which action follows, or a flow is running, or the worker is parked.
 */
#ifndef SSK_WORKER_H
#define SSK_WORKER_H

#include "run/sim.h"

int ssk_worker_go(ssk_sim_t *sim, int32_t worker, int action) SSK_CHECK_RESULT;
void ssk_set_busy(ssk_sim_t *sim, int32_t worker, bool busy);
/* Lets two workers swap hardware threads; what they execute waits for `cost`. */
void ssk_exchange(ssk_sim_t *sim, int32_t first, int32_t second, int64_t cost);
/* Lets a worker compute at a part of its speed, in billionths. */
void ssk_set_pace(ssk_sim_t *sim, int32_t worker, int32_t billionths);
void ssk_set_parked(ssk_sim_t *sim, int32_t worker, bool parked);
int32_t ssk_flow_class(const ssk_sim_t *sim, int32_t worker, int32_t path);

/* Lets a worker pay a cost; returns what it does now. */
static inline int ssk_pay(ssk_sim_t *sim, int32_t worker, int64_t cost, int then)
{
    if (cost == 0)
        return then;
    sim->workers[worker].then = (uint8_t)then;
    ssk_timers_set(&sim->timers, worker, ssk_add_ps(sim->now, cost));
    return SSK_WAIT;
}

/* The worker's compute rate now. */
static inline double ssk_rate(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    return p->worker_rate[worker * p->n_smt + sim->core_busy[p->worker_core[worker]] - 1] * sim->pace[worker];
}

/* The domain in which a worker has started; pools and conditions go by it. */
static inline int32_t ssk_home(const ssk_sim_t *sim, int32_t worker)
{
    return sim->routes.scope[SSK_SCOPE_WORKER].domain[worker];
}

#endif

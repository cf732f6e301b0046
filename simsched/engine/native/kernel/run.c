/*
 * The event loop: which pending event comes next, and who handles it.
 *
 * Flows (kind 0) have their own calendar; everything else is in `timers`, where slot and rank are the same number and
 * ascend with (kind, entity). At one time flows therefore come first.
 */
#include "sim.h"

int ssk_fail(ssk_sim_t *sim, int code)
{
    if (!sim->has_failed) {
        sim->has_failed = true;
        sim->failure.code = code;
    }
    return code;
}

/* Tells whether nothing but the policy's timer is pending. A flow is, even while its rate is not known yet. */
static bool is_stalled(const ssk_sim_t *sim)
{
    return sim->flows.n_flows == 0 && sim->timers.n == (sim->timers.place[sim->policy_slot] >= 0);
}

static int handle_timer(ssk_sim_t *sim, int32_t slot)
{
    if (slot < sim->problem.n_workers) {
        ssk_calendar_clear(&sim->timers, slot);
        return ssk_worker_go(sim, slot, sim->workers[slot].then);
    }
    if (slot == sim->arrival_slot)
        return ssk_arrive(sim);
    if (slot == sim->boundary_slot)
        return ssk_reach_boundary(sim);
    return ssk_fire_policy_timer(sim);
}

static int handle_flow(ssk_sim_t *sim, int32_t worker)
{
    bool is_copy = sim->workers[worker].state == SSK_COPYING;
    ssk_flows_stop(&sim->flows, worker, sim->now);
    return ssk_worker_go(sim, worker, is_copy ? ssk_copy_ended(sim, worker) : ssk_flow_ended(sim, worker));
}

/* Handles the next event. */
static int handle_next(ssk_sim_t *sim)
{
    int32_t worker;
    int64_t time = ssk_calendar_time(&sim->timers);
    int64_t flow_time = ssk_flows_next(&sim->flows, sim->now, time, &worker);
    bool is_flow = flow_time <= time && flow_time < SSK_NEVER;
    if (is_flow)
        time = flow_time;
    if (!is_flow && is_stalled(sim))
        return ssk_fail(sim, SSK_ERR_STALLED);
    if (time >= SSK_NEVER)
        return ssk_fail(sim, SSK_ERR_TIME);
    assert(time >= sim->now);
    sim->now = time;
    sim->events_handled++;
    return is_flow ? handle_flow(sim, worker) : handle_timer(sim, sim->timers.heap[0].slot);
}

int ssk_sim_run(ssk_sim_t *sim, int64_t max_events)
{
    if (sim->has_failed)
        return SSK_ERR_ARGUMENT;
    for (int64_t i = 0; i < max_events && sim->phase != SSK_PHASE_IDLE; i++) {
        int status = handle_next(sim);
        if (status < 0)
            return ssk_fail(sim, status);
        if (sim->trace.failed)
            return ssk_fail(sim, SSK_ERR_MEMORY);
        if (sim->phase == SSK_PHASE_COPIES && sim->n_copying == 0)
            sim->phase = SSK_PHASE_IDLE;
    }
    return sim->phase == SSK_PHASE_IDLE ? SSK_OK : SSK_MORE;
}

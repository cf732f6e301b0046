/*
 * The event loop: which pending event comes next, and who handles it.
 *
 * Events are ordered by (time, kind, entity). Each kind has its own place: flows (0), timers of workers (1), the next
 * arrival (2), the next landing (3), the next wake (4), the boundary (5), the policy's timer (6), the next change of
 * conditions (7). The first of each kind is known; of those with the earliest time the first kind comes next.
 */
#include "run/run.h"

#include "copies/copying.h"
#include "run/decisions.h"
#include "run/iteration.h"
#include "run/segment.h"
#include "run/worker.h"

enum { FLOW, TIMER, ARRIVAL, LANDING, WAKE, BOUNDARY, POLICY, CHANGE }; /* from ARRIVAL on in the order of the rare times */

/* Steps by which a look is put off at a time where events are written down. */
static const int64_t MOST_LEFT_OUT = 1 << 20;
/* When time stands still; also in simsched/engine/stall.py. */
static const int64_t MOST_AT_ONCE = 10000, EVENTS_OF_TASK = 64;

int ssk_fail(ssk_sim_t *sim, int code)
{
    if (!sim->has_failed) {
        sim->has_failed = true;
        sim->failure.code = code;
    }
    return code;
}

/*
 * Tells whether nothing but the policy's timer, changes of conditions and flights without entries is pending. A flow is,
 * even while its rate is not known yet.
 */
static bool is_stalled(const ssk_sim_t *sim)
{
    return sim->flows.n_flows == 0 && sim->timers.n_set == 0 && sim->rare_time[SSK_RARE_ARRIVAL] == SSK_NO_TIMER &&
           sim->rare_time[SSK_RARE_BOUNDARY] == SSK_NO_TIMER && sim->wakes.n == 0 &&
           sim->flights.n_loaded == 0;
}

/* Tells whether the next event comes so long after the last end of a task that nobody waits for it; arrivals may. */
static bool is_given_up(const ssk_sim_t *sim, int64_t time)
{
    return time >= sim->deadline_ps && sim->phase == SSK_PHASE_TASKS &&
           sim->rare_time[SSK_RARE_ARRIVAL] == SSK_NO_TIMER;
}

/* Tells whether more happens at one instant, without an end of a task, than workers, tasks and accesses explain. */
static bool stands_still(const ssk_sim_t *sim)
{
    int64_t n_tasks = sim->graph.n_tasks, n_accesses = sim->graph.access_ptr[n_tasks];
    int64_t explained = (sim->problem.n_workers + EVENTS_OF_TASK) * (n_tasks + n_accesses);
    return sim->phase == SSK_PHASE_TASKS && sim->n_at_once > MOST_AT_ONCE + explained;
}

/* Returns the kind of the next event; *time_ret is its time and, for a flow, *worker_ret its worker. */
static int next_kind(ssk_sim_t *sim, int64_t *time_ret, int32_t *worker_ret)
{
    int64_t time = ssk_timers_first(&sim->timers);
    int kind = TIMER;
    if (sim->first_rare_time < time) {
        time = sim->first_rare_time;
        kind = ARRIVAL;
        while (sim->rare_time[kind - ARRIVAL] != time)
            kind++;
    }
    if (sim->flows.n_flows > 0 || sim->flows.n_changed > 0) {
        int64_t flow_time = ssk_flows_next(&sim->flows, sim->now, sim->lag, time, worker_ret);
        if (flow_time <= time) {
            time = flow_time;
            kind = FLOW;
        }
    }
    *time_ret = time;
    return kind;
}

/* Tells whether the next event is a look of the policy that has promised to decide nothing. */
static bool is_idle_look(const ssk_sim_t *sim, int kind)
{
    int64_t happened = ssk_n_happened(sim);
    if (kind == WAKE)
        return ssk_wake_rests(&sim->wakes.heap[0], happened);
    return kind == POLICY && sim->rest_step_ps > 0 && sim->rest_happened == happened;
}

/* Returns the time of the next event that is no such look, or when the run is given up before. */
static int64_t next_happening(ssk_sim_t *sim)
{
    int64_t policy_time = sim->rare_time[SSK_RARE_POLICY], wake_time = sim->rare_time[SSK_RARE_WAKE], time;
    int32_t worker;
    if (is_idle_look(sim, POLICY))
        ssk_set_rare(sim, SSK_RARE_POLICY, SSK_NO_TIMER);
    ssk_set_rare(sim, SSK_RARE_WAKE, ssk_wakes_first_due(&sim->wakes, ssk_n_happened(sim)));
    next_kind(sim, &time, &worker);
    ssk_set_rare(sim, SSK_RARE_POLICY, policy_time);
    ssk_set_rare(sim, SSK_RARE_WAKE, wake_time);
    return is_given_up(sim, time) ? sim->deadline_ps : ssk_min(time, SSK_NEVER);
}

/*
 * Puts an idle look off to the last of its times before anything happens; returns whether it comes later. Where events
 * are written down it looks now and then, so that a run can be stopped.
 */
static bool put_off(ssk_sim_t *sim, int kind, int64_t time)
{
    int64_t step = kind == WAKE ? sim->wakes.heap[0].step_ps : sim->rest_step_ps;
    int64_t from = kind == WAKE ? time : sim->rest_from_ps, period = sim->problem.timer_period_ps;
    int64_t n_steps = (next_happening(sim) - 1 - from) / step;
    if (kind == POLICY && sim->trace.recorder.capacity > 0)
        n_steps = ssk_min(n_steps, MOST_LEFT_OUT);
    int64_t later = from + n_steps * step;
    if (later <= time)
        return false;
    if (kind == WAKE) {
        ssk_wakes_put_off(&sim->wakes, later);
        ssk_set_rare(sim, SSK_RARE_WAKE, sim->wakes.heap[0].time);
    } else {
        ssk_trace_repeat(&sim->trace, time, period, (later - time) / period, SSK_TIMER, sim->iteration);
        ssk_set_rare(sim, SSK_RARE_POLICY, later);
    }
    return true;
}

static int handle_timer(ssk_sim_t *sim)
{
    int32_t worker = ssk_timers_fire(&sim->timers);
    if (worker >= sim->problem.n_workers) {
        int moves = ssk_copy_moves(sim, worker);
        ssk_timers_settle(&sim->timers);
        return moves;
    }
    sim->lag = sim->workers[worker].lag;
    int status = ssk_worker_go(sim, worker, sim->workers[worker].then);
    ssk_timers_settle(&sim->timers);
    return status;
}

static int handle_flow(ssk_sim_t *sim, int32_t worker)
{
    sim->lag = ssk_flows_lag(&sim->flows);
    if (worker >= sim->problem.n_workers) {
        ssk_flows_end(&sim->flows, worker, sim->now, sim->lag);
        return ssk_copy_arrives(sim, worker);
    }
    sim->workers[worker].lag = sim->lag;
    ssk_flows_end(&sim->flows, worker, sim->now, sim->lag);
    switch (sim->workers[worker].state) {
    case SSK_COPYING: return ssk_worker_go(sim, worker, ssk_copy_ended(sim, worker));
    case SSK_MOVING: return ssk_worker_go(sim, worker, ssk_move_flow_ended(sim, worker));
    default: return ssk_worker_go(sim, worker, ssk_flow_ended(sim, worker));
    }
}

/* Handles the next event. */
static int handle_next(ssk_sim_t *sim)
{
    int32_t worker = SSK_NONE;
    int64_t time;
    int kind = next_kind(sim, &time, &worker);
    if (time >= sim->deadline_ps || kind >= LANDING) {
        if (is_stalled(sim))
            return ssk_fail(sim, SSK_ERR_STALLED);
        while (time > sim->now && is_idle_look(sim, kind) && put_off(sim, kind, time))
            kind = next_kind(sim, &time, &worker);
        if (time >= SSK_NEVER)
            return ssk_fail(sim, SSK_ERR_TIME);
        if (is_given_up(sim, time))
            return ssk_fail(sim, SSK_ERR_PROGRESS);
    }
    assert(time >= sim->now);
    sim->n_at_once = time > sim->now ? 0 : sim->n_at_once + 1;
    if (sim->n_at_once > MOST_AT_ONCE && stands_still(sim))
        return ssk_fail(sim, SSK_ERR_INSTANT);
    sim->now = time;
    sim->lag = 0.0;
    sim->events_handled++;
    switch (kind) {
    case FLOW: return handle_flow(sim, worker);
    case TIMER: return handle_timer(sim);
    case ARRIVAL: return ssk_arrive(sim);
    case LANDING: return ssk_land(sim);
    case WAKE: return ssk_wake_policy(sim);
    case BOUNDARY: return ssk_reach_boundary(sim);
    default: return kind == POLICY ? ssk_fire_policy_timer(sim) : ssk_change_conditions(sim);
    }
}

int ssk_sim_run(ssk_sim_t *sim, int64_t max_events)
{
    if (sim->has_failed)
        return SSK_ERR_ARGUMENT;
    for (int64_t i = 0; i < max_events && sim->phase != SSK_PHASE_IDLE && !sim->trace.failed; i++) {
        int status = handle_next(sim);
        if (status < 0)
            return ssk_fail(sim, status);
        if (sim->phase == SSK_PHASE_COPIES && sim->n_copying == 0)
            sim->phase = SSK_PHASE_IDLE;
    }
    if (sim->trace.failed)
        return ssk_fail(sim, SSK_ERR_HOOK);
    return sim->phase == SSK_PHASE_IDLE ? SSK_OK : SSK_MORE;
}

int ssk_sim_flush_events(ssk_sim_t *sim)
{
    return ssk_trace_flush(&sim->trace);
}

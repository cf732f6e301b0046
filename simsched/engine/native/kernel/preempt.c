/*
 * Decisions of hooks; docs/semantics.md, rules PR to TR.
 */
#include "sim.h"

int ssk_check_executing(ssk_sim_t *sim, int32_t victim, int reason)
{
    if (victim < 0 || victim >= sim->problem.n_workers || sim->workers[victim].state != SSK_EXECUTING) {
        sim->failure.reason = reason;
        sim->failure.worker = victim;
        return ssk_fail(sim, SSK_ERR_DECISION);
    }
    if (sim->problem.copies_data) {
        sim->failure.reason = reason == SSK_REASON_IDLE_VICTIM ? SSK_REASON_IDLE_COPIED : SSK_REASON_TIMER_COPIED;
        return ssk_fail(sim, SSK_ERR_DECISION);
    }
    return SSK_OK;
}

/*
 * Takes the running task off `victim`, which pays a context switch and looks for work; what follows for the task is up
 * to the caller. `reason` is that of the failure when the victim is not executing.
 */
static int take_away(ssk_sim_t *sim, int32_t victim, int32_t taker, int reason, int32_t *task_ret)
{
    int status = ssk_check_executing(sim, victim, reason);
    if (status != SSK_OK)
        return status;
    ssk_worker_t *v = &sim->workers[victim];
    if (ssk_has_duplicates(sim, victim)) {
        sim->failure.reason = reason == SSK_REASON_IDLE_VICTIM ? SSK_REASON_IDLE_SEVERAL : SSK_REASON_TIMER_SEVERAL;
        sim->failure.task = v->task;
        return ssk_fail(sim, SSK_ERR_DECISION);
    }
    int64_t cost = sim->problem.costs.context_switch_ps;
    int32_t task = v->task;
    status = ssk_save_segment(sim, victim);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    v->task = SSK_NONE;
    v->then = SSK_ACT_SEARCH;
    v->counters.acquire_ps += cost;
    /* A timer even when nothing is to be paid: the victim acts after the event that preempts it. */
    ssk_timers_set(&sim->timers, victim, ssk_add_ps(sim->now, cost));
    ssk_event(sim, SSK_PREEMPT, victim, task, 0, taker);
    *task_ret = task;
    return SSK_OK;
}

/* Gives a preempted task to `taker`; returns what it pays. */
static int64_t give(ssk_sim_t *sim, int32_t taker, int32_t victim, int32_t task)
{
    ssk_worker_t *t = &sim->workers[taker];
    ssk_set_busy(sim, taker, true);
    int32_t distance = ssk_distance(sim, taker, SSK_SCOPE_WORKER, victim);
    int64_t cost = ssk_add_ps(sim->problem.costs.context_switch_ps, ssk_steal_cost(sim, distance));
    t->task = task;
    t->counters.acquire_ps += cost;
    return cost;
}

int ssk_push_back(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    int64_t clock = sim->now;
    int32_t place = ssk_vacate(sim, task);
    int status = ssk_push(sim, task, worker, false, &clock);
    if (status == SSK_OK && place != SSK_NONE)
        ssk_offer(sim, place);
    return status;
}

static int refuse_taker(ssk_sim_t *sim, int reason, int32_t worker, int32_t taker)
{
    sim->failure.reason = reason;
    sim->failure.worker = worker;
    sim->failure.taker = taker;
    return ssk_fail(sim, SSK_ERR_DECISION);
}

/* Puts the entries of a flight into their pool. */
static int arrive(ssk_sim_t *sim, const ssk_flight_t *flight)
{
    int32_t task = flight->first;
    for (int32_t i = 0; i < flight->n_entries; i++) {
        int32_t following = sim->flights.next[task];
        int status = ssk_enter(sim, task, flight->group, flight->instance, SSK_NONE);
        if (status != SSK_OK)
            return ssk_fail(sim, status);
        task = following;
    }
    return SSK_OK;
}

/* Lets entries leave a pool for another one; `asker` waits for them. `reason` is that of a pool that does not exist. */
static int transfer(ssk_sim_t *sim, const ssk_decision_t *d, int32_t asker, int reason)
{
    const int32_t pools[2][2] = {{d->group, d->instance}, {d->to_group, d->to_instance}};
    for (int i = 0; i < 2; i++) {
        if (pools[i][0] >= 0 && pools[i][0] < sim->plan.n_groups && pools[i][1] >= 0 &&
            pools[i][1] < ssk_pools_n_instances(&sim->pools, pools[i][0]))
            continue;
        sim->failure.reason = reason;
        sim->failure.group = pools[i][0];
        sim->failure.instance = pools[i][1];
        return ssk_fail(sim, SSK_ERR_DECISION);
    }
    if (d->count < 1 || d->delay_ps < (asker != SSK_NONE) || d->delay_ps > SSK_MAX_COST_PS) {
        sim->failure.reason = SSK_REASON_KIND;
        return ssk_fail(sim, SSK_ERR_DECISION);
    }
    int status = ssk_flights_reserve(&sim->flights, &sim->allocator, sim->graph.n_tasks);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_flight_t flight = {
        .time = ssk_add_ps(sim->now, d->delay_ps), .group = d->to_group, .instance = d->to_instance, .asker = asker,
    };
    ssk_pool_t *pool = ssk_pools_at(&sim->pools, d->group, d->instance);
    if (d->take == SSK_ENTRY && ssk_pools_remove(&sim->pools, d->group, pool, d->entry))
        ssk_flights_load(&sim->flights, &flight, d->entry);
    while (d->take != SSK_ENTRY && flight.n_entries < d->count && pool->count > 0) {
        int32_t task = ssk_pools_take(&sim->pools, d->group, pool, d->take == SSK_NEWEST);
        ssk_flights_load(&sim->flights, &flight, task);
    }
    sim->transfers += flight.n_entries > 0;
    sim->transferred_tasks += flight.n_entries;
    ssk_event(sim, SSK_TRANSFER, asker, SSK_NONE, ((int64_t)d->group << 32) + d->instance, flight.n_entries);
    if (d->delay_ps == 0)
        return arrive(sim, &flight);
    ssk_flights_depart(&sim->flights, flight);
    ssk_set_rare(sim, SSK_RARE_LANDING, sim->flights.heap[0].time);
    return SSK_OK;
}

int ssk_land(ssk_sim_t *sim)
{
    ssk_flight_t flight = ssk_flights_land(&sim->flights);
    ssk_set_rare(sim, SSK_RARE_LANDING, sim->flights.n > 0 ? sim->flights.heap[0].time : SSK_NO_TIMER);
    int status = arrive(sim, &flight);
    if (status != SSK_OK)
        return status;
    if (flight.asker != SSK_NONE && ssk_sim_is_waiting(sim, flight.asker))
        ssk_wake(sim, flight.asker, 1);
    if (sim->hooks.on_landing == NULL)
        return SSK_OK;
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    if (sim->hooks.on_landing(sim->hooks.context, flight.group, flight.instance, &answer) < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    return ssk_answer(sim, &answer, SSK_REASON_LANDING_POOL);
}

void ssk_drop_flights(ssk_sim_t *sim)
{
    ssk_flights_clear(&sim->flights);
    ssk_set_rare(sim, SSK_RARE_LANDING, SSK_NO_TIMER);
}

static int refuse_kind(ssk_sim_t *sim)
{
    sim->failure.reason = SSK_REASON_KIND;
    return ssk_fail(sim, SSK_ERR_DECISION);
}

static int set_pace(ssk_sim_t *sim, const ssk_decision_t *decision)
{
    if (decision->worker < 0 || decision->worker >= sim->problem.n_workers)
        return refuse_kind(sim);
    if (decision->count < 1 || decision->count > SSK_WHOLE_PACE)
        return refuse_kind(sim);
    ssk_set_pace(sim, decision->worker, decision->count);
    return SSK_OK;
}

int ssk_answer(ssk_sim_t *sim, const ssk_answer_t *answer, int reason)
{
    for (int32_t i = 0; i < answer->n_decisions; i++) {
        const ssk_decision_t *decision = &answer->decisions[i];
        if (decision->kind != SSK_DECIDE_TRANSFER && decision->kind != SSK_DECIDE_PACE)
            return refuse_kind(sim);
        int status = decision->kind == SSK_DECIDE_PACE ? set_pace(sim, decision)
                                                       : transfer(sim, decision, SSK_NONE, reason);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

int ssk_tell_on_start(ssk_sim_t *sim, int32_t worker)
{
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    if (sim->hooks.on_start == NULL)
        return SSK_OK;
    if (sim->hooks.on_start(sim->hooks.context, sim->workers[worker].task, worker, &answer) < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    return ssk_answer(sim, &answer, SSK_REASON_START_POOL);
}

int ssk_ask_on_idle(ssk_sim_t *sim, int32_t worker, bool *has_snatched_ret)
{
    ssk_decision_t decision = {.worker = SSK_NONE, .other = SSK_NONE};
    int32_t task = SSK_NONE;
    int answer = sim->hooks.on_idle(sim->hooks.context, worker, &decision);
    if (answer < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    if (answer == 0)
        return SSK_WAIT;
    if (decision.kind == SSK_DECIDE_TRANSFER)
        return transfer(sim, &decision, worker, SSK_REASON_IDLE_POOL);
    if (decision.kind != SSK_DECIDE_PREEMPT && decision.kind != SSK_DECIDE_DUPLICATE)
        return refuse_kind(sim);
    if (decision.other != worker)
        return refuse_taker(sim, SSK_REASON_IDLE_TAKER, worker, decision.other);
    int64_t cost = 0;
    int status;
    if (decision.kind == SSK_DECIDE_DUPLICATE)
        status = ssk_duplicate(sim, decision.worker, worker, true, &cost);
    else
        status = take_away(sim, decision.worker, worker, SSK_REASON_IDLE_VICTIM, &task);
    if (status != SSK_OK)
        return status;
    if (decision.kind == SSK_DECIDE_PREEMPT)
        cost = give(sim, worker, decision.worker, task);
    *has_snatched_ret = true;
    return ssk_pay(sim, worker, cost, SSK_ACT_BEGIN);
}

/* Replaces the acquire order; all parked workers try the new one. */
static int change_order(ssk_sim_t *sim, const ssk_plan_t *order)
{
    ssk_plan_t *plan = &sim->plan;
    if (order == NULL || ssk_order_check(order, plan, &sim->problem, &sim->failure.flaw) != SSK_OK)
        return refuse_kind(sim);
    plan->n_steps = order->n_steps;
    plan->step_group = order->step_group;
    plan->step_where = order->step_where;
    plan->step_take = order->step_take;
    plan->step_when = order->step_when;
    plan->step_batch = order->step_batch;
    plan->step_least = order->step_least;
    plan->step_attempts = order->step_attempts;
    plan->step_choice = order->step_choice;
    plan->step_list = order->step_list;
    plan->n_lists = order->n_lists;
    plan->n_listed = order->n_listed;
    plan->list_ptr = order->list_ptr;
    plan->list_instance = order->list_instance;
    plan->list_value = order->list_value;
    int status = ssk_victims_reset(&sim->victims, &sim->allocator, plan, sim->problem.n_workers);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_event(sim, SSK_ACQUIRE_ORDER, SSK_NONE, SSK_NONE, 0, 0);
    for (int32_t i = 0; sim->n_parked > 0 && i < sim->routes.n_active; i++)
        if (sim->workers[sim->routes.active_workers[i]].state == SSK_PARKED)
            ssk_wake(sim, sim->routes.active_workers[i], 1);
    return SSK_OK;
}

/* Carries out one decision of the policy's timer. */
static int carry_out(ssk_sim_t *sim, const ssk_decision_t *decision)
{
    int32_t victim = decision->worker, taker = decision->other, task = SSK_NONE;
    if (decision->kind == SSK_DECIDE_TRANSFER)
        return transfer(sim, decision, SSK_NONE, SSK_REASON_TIMER_POOL);
    if (decision->kind == SSK_DECIDE_EXCHANGE) {
        int32_t n = sim->problem.n_workers;
        if (victim < 0 || victim >= n || taker < 0 || taker >= n || victim == taker)
            return refuse_taker(sim, SSK_REASON_EXCHANGE, victim, taker);
        if (decision->delay_ps < 0 || decision->delay_ps > SSK_MAX_COST_PS)
            return refuse_kind(sim);
        ssk_exchange(sim, victim, taker, decision->delay_ps);
        return SSK_OK;
    }
    if (decision->kind == SSK_DECIDE_PACE)
        return set_pace(sim, decision);
    if (decision->kind == SSK_DECIDE_ORDER)
        return change_order(sim, decision->plan);
    if (decision->kind == SSK_DECIDE_KILL)
        return ssk_kill(sim, victim);
    bool is_duplicate = decision->kind == SSK_DECIDE_DUPLICATE;
    if (decision->kind != SSK_DECIDE_PREEMPT && !is_duplicate)
        return refuse_kind(sim);
    if ((taker != SSK_NONE || is_duplicate) && !ssk_sim_is_waiting(sim, taker))
        return refuse_taker(sim, SSK_REASON_TIMER_TAKER, SSK_NONE, taker);
    int64_t cost = 0;
    int status = is_duplicate ? ssk_duplicate(sim, victim, taker, false, &cost)
                              : take_away(sim, victim, taker, SSK_REASON_TIMER_VICTIM, &task);
    if (status != SSK_OK)
        return status;
    if (taker == SSK_NONE)
        return ssk_push_back(sim, task, victim);
    if (!is_duplicate)
        cost = give(sim, taker, victim, task);
    ssk_set_parked(sim, taker, false);
    sim->workers[taker].lag = sim->lag;
    sim->workers[taker].then = SSK_ACT_BEGIN;
    ssk_timers_set(&sim->timers, taker, ssk_add_ps(sim->now, cost));
    return SSK_OK;
}

int ssk_fire_policy_timer(ssk_sim_t *sim)
{
    const ssk_decision_t *decisions = NULL;
    ssk_set_rare(sim, SSK_RARE_POLICY, ssk_add_ps(sim->now, sim->problem.timer_period_ps));
    ssk_event(sim, SSK_TIMER, SSK_NONE, SSK_NONE, 0, 0);
    if (sim->hooks.on_timer == NULL)
        return SSK_OK;
    int n = sim->hooks.on_timer(sim->hooks.context, &decisions);
    if (n < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    for (int i = 0; i < n; i++) {
        int status = carry_out(sim, &decisions[i]);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

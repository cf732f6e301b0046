/*
 * Decisions of hooks; docs/semantics.md, rules PR to TR.
 */
#include "run/decisions.h"

#include "pools/search.h"
#include "run/executions.h"
#include "run/ranges.h"
#include "run/run.h"
#include "run/segment.h"
#include "run/worker.h"

int ssk_refuse(ssk_sim_t *sim, int hook, int reason)
{
    sim->failure.hook = hook;
    sim->failure.reason = reason;
    return ssk_fail(sim, SSK_ERR_DECISION);
}

int ssk_check_executing(ssk_sim_t *sim, int32_t victim, int hook)
{
    if (victim < 0 || victim >= sim->problem.n_workers || sim->workers[victim].state != SSK_EXECUTING) {
        sim->failure.worker = victim;
        return ssk_refuse(sim, hook, SSK_REASON_VICTIM);
    }
    return sim->problem.copies_data ? ssk_refuse(sim, hook, SSK_REASON_COPIED) : SSK_OK;
}

/*
 * Takes the running task off `victim`, which pays a context switch and looks for work; what follows for the task is up
 * to the caller.
 */
static int take_away(ssk_sim_t *sim, int32_t victim, int32_t taker, int hook, int32_t *task_ret)
{
    int status = ssk_check_executing(sim, victim, hook);
    if (status != SSK_OK)
        return status;
    ssk_worker_t *v = &sim->workers[victim];
    if (ssk_has_duplicates(sim, victim)) {
        sim->failure.task = v->task;
        return ssk_refuse(sim, hook, SSK_REASON_SEVERAL);
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

/* Gives the running task of `victim` to `taker`; *cost_ret is what it pays. */
static int snatch(ssk_sim_t *sim, int32_t victim, int32_t taker, int hook, int64_t *cost_ret)
{
    int32_t task = SSK_NONE;
    int status = take_away(sim, victim, taker, hook, &task);
    if (status != SSK_OK)
        return status;
    ssk_worker_t *t = &sim->workers[taker];
    ssk_set_busy(sim, taker, true);
    int32_t distance = ssk_distance(sim, taker, SSK_SCOPE_WORKER, victim);
    *cost_ret = ssk_add_ps(sim->problem.costs.context_switch_ps, ssk_steal_cost(sim, distance));
    t->task = task;
    t->counters.acquire_ps += *cost_ret;
    return SSK_OK;
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

static int refuse_taker(ssk_sim_t *sim, int hook, int32_t taker)
{
    sim->failure.taker = taker;
    return ssk_refuse(sim, hook, SSK_REASON_TAKER);
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

/* Lets entries leave a pool for another one; `asker` waits for them. */
static int transfer(ssk_sim_t *sim, const ssk_decision_t *d, int32_t asker, int hook)
{
    int32_t group = (int32_t)d->transfer.group, instance = (int32_t)d->transfer.instance;
    int32_t to_group = (int32_t)d->transfer.to_group, to_instance = (int32_t)d->transfer.to_instance;
    const int32_t pools[2][2] = {{group, instance}, {to_group, to_instance}};
    for (int i = 0; i < 2; i++) {
        if (pools[i][0] >= 0 && pools[i][0] < sim->plan.n_groups && pools[i][1] >= 0 &&
            pools[i][1] < ssk_pools_n_instances(&sim->pools, pools[i][0]))
            continue;
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    }
    if (d->transfer.thief < SSK_NONE || d->transfer.thief >= sim->problem.n_workers)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    if (d->transfer.delay_ps < (asker != SSK_NONE))
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    int status = ssk_flights_reserve(&sim->flights, &sim->allocator, sim->graph.n_tasks);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_flight_t flight = {
        .time = ssk_add_ps(sim->now, d->transfer.delay_ps), .group = to_group, .instance = to_instance, .asker = asker,
    };
    ssk_pool_t *pool = ssk_pools_at(&sim->pools, group, instance);
    int32_t only = (int32_t)d->transfer.task;
    if (only != SSK_NONE && ssk_pools_remove(&sim->pools, group, pool, only))
        ssk_flights_load(&sim->flights, &flight, only);
    while (only == SSK_NONE && flight.n_entries < d->transfer.count && pool->count > 0) {
        int32_t task = ssk_pools_take(&sim->pools, group, pool, d->transfer.take == SSK_NEWEST);
        ssk_flights_load(&sim->flights, &flight, task);
    }
    sim->counters.transfers += flight.n_entries > 0;
    sim->counters.transferred_tasks += flight.n_entries;
    ssk_event(sim, SSK_TRANSFER, asker, SSK_NONE, ((int64_t)group << 32) + instance, flight.n_entries);
    int32_t thief = (int32_t)d->transfer.thief;
    if (thief != SSK_NONE && flight.n_entries > 0) {
        int32_t distance = ssk_distance(sim, thief, sim->plan.group_scope[group], instance);
        ssk_event(sim, SSK_STEAL, thief, flight.first, instance, distance);
        sim->steals[distance]++;
    }
    if (d->transfer.delay_ps == 0)
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
    return ssk_answer(sim, &answer, SSK_ON_LANDING);
}

void ssk_forget_pending(ssk_sim_t *sim)
{
    ssk_flights_clear(&sim->flights);
    ssk_wakes_clear(&sim->wakes);
    ssk_set_rare(sim, SSK_RARE_LANDING, SSK_NO_TIMER);
    ssk_set_rare(sim, SSK_RARE_WAKE, SSK_NO_TIMER);
}

static int set_pace(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    if (decision->pace.worker < 0 || decision->pace.worker >= sim->problem.n_workers)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    ssk_set_pace(sim, (int32_t)decision->pace.worker, (int32_t)decision->pace.part);
    return SSK_OK;
}

/* Notes when the policy wants to be asked. */
static int add_wake(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    int64_t at_ps = decision->wake.at_ps;
    if (sim->hooks.on_wake == NULL || at_ps < sim->now)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    ssk_wake_t wake = {
        .time = at_ps, .rank = decision->wake.rank, .tag = decision->wake.tag,
        .step_ps = decision->wake.step_ps, .happened = ssk_n_happened(sim),
    };
    int status = ssk_wakes_add(&sim->wakes, &sim->allocator, wake);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_set_rare(sim, SSK_RARE_WAKE, sim->wakes.heap[0].time);
    return SSK_OK;
}

/* Lets the timer be put off while nothing happens. */
static int rest(ssk_sim_t *sim, const ssk_decision_t *decision)
{
    int64_t period = sim->problem.timer_period_ps, looks = decision->rest.looks;
    sim->rest_step_ps = looks > SSK_NEVER / period ? SSK_NEVER : looks * period;
    sim->rest_from_ps = sim->now;
    sim->rest_happened = ssk_n_happened(sim);
    return SSK_OK;
}

/* Tells whether cores may fail. */
static bool may_fail(const ssk_problem_t *p)
{
    for (int32_t i = 0; i < p->n_changes; i++)
        if (!(p->change_speed[i] > 0.0))
            return true;
    return false;
}

/* Gives a worker a block to move. */
static int add_move(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    const ssk_problem_t *p = &sim->problem;
    int64_t worker = decision->move.worker, block = decision->move.block, node = decision->move.node;
    if (sim->hooks.on_wake == NULL || worker < 0 || worker >= p->n_workers || block < 0 || block >= p->n_blocks ||
        node < 0 || node >= p->n_nodes || may_fail(p))
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    if (p->copies_data)
        return ssk_refuse(sim, hook, SSK_REASON_COPIED);
    int status = ssk_add_move(sim, (int32_t)worker, (int32_t)block, (int32_t)node, decision->move.cost_ps,
                              decision->move.tag);
    return status == SSK_OK ? SSK_OK : ssk_fail(sim, status);
}

int ssk_ask_on_idle(ssk_sim_t *sim, int32_t worker, bool *has_snatched_ret)
{
    ssk_decision_t decision = {{0}};
    int answer = sim->hooks.on_idle(sim->hooks.context, worker, &decision);
    if (answer < 0)
        return ssk_fail(sim, ssk_runtime_error(&sim->runtime));
    if (answer == 0)
        return SSK_WAIT;
    if (!ssk_may_decide(&decision, SSK_ON_IDLE))
        return ssk_refuse(sim, SSK_ON_IDLE, SSK_REASON_KIND);
    if (decision.kind == SSK_DECIDE_TRANSFER)
        return transfer(sim, &decision, worker, SSK_ON_IDLE);
    if (decision.kind == SSK_DECIDE_WAKE)
        return add_wake(sim, &decision, SSK_ON_IDLE);
    bool is_duplicate = decision.kind == SSK_DECIDE_DUPLICATE;
    int64_t victim = is_duplicate ? decision.duplicate.worker : decision.preempt.worker;
    int64_t taker = is_duplicate ? decision.duplicate.to : decision.preempt.to;
    if (taker != worker)
        return ssk_refuse(sim, SSK_ON_IDLE, SSK_REASON_KIND);
    int64_t cost = 0;
    int status = is_duplicate ? ssk_duplicate(sim, (int32_t)victim, worker, SSK_ON_IDLE, &cost)
                              : snatch(sim, (int32_t)victim, worker, SSK_ON_IDLE, &cost);
    if (status != SSK_OK)
        return status;
    *has_snatched_ret = true;
    return ssk_pay(sim, worker, cost, SSK_ACT_BEGIN);
}

/* Replaces the acquire order; all parked workers try the new one. */
static int change_order(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    if (sim->hooks.order == NULL)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    const ssk_order_t *order = sim->hooks.order(sim->hooks.context, decision->acquire_order.acquire);
    if (order == NULL)
        return ssk_fail(sim, SSK_ERR_HOOK);
    if (ssk_order_check(order, &sim->plan, &sim->problem, &sim->failure.flaw) != SSK_OK)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    sim->plan.order = *order;
    int status = ssk_victims_reset(&sim->victims, &sim->allocator, order, sim->problem.n_workers);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_event(sim, SSK_ACQUIRE_ORDER, SSK_NONE, SSK_NONE, 0, 0);
    for (int32_t i = 0; sim->n_parked > 0 && i < sim->routes.n_active; i++)
        if (sim->workers[sim->routes.active_workers[i]].state == SSK_PARKED)
            ssk_wake(sim, sim->routes.active_workers[i], 1);
    return SSK_OK;
}

/* Lets a worker that waits execute the task that it has taken. */
static int hand_over(ssk_sim_t *sim, int32_t taker, int64_t cost)
{
    ssk_set_parked(sim, taker, false);
    sim->workers[taker].lag = sim->lag;
    sim->workers[taker].then = SSK_ACT_BEGIN;
    ssk_timers_set(&sim->timers, taker, ssk_add_ps(sim->now, cost));
    return SSK_OK;
}

static int preempt(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    int32_t victim = (int32_t)decision->preempt.worker, taker = (int32_t)decision->preempt.to, task = SSK_NONE;
    int64_t cost = 0;
    if (taker != SSK_NONE && !ssk_sim_is_waiting(sim, taker))
        return refuse_taker(sim, hook, taker);
    int status = taker == SSK_NONE ? take_away(sim, victim, taker, hook, &task) : snatch(sim, victim, taker, hook, &cost);
    if (status != SSK_OK)
        return status;
    return taker == SSK_NONE ? ssk_push_back(sim, task, victim) : hand_over(sim, taker, cost);
}

static int duplicate(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    int32_t taker = (int32_t)decision->duplicate.to;
    int64_t cost = 0;
    if (!ssk_sim_is_waiting(sim, taker))
        return refuse_taker(sim, hook, taker);
    int status = ssk_duplicate(sim, (int32_t)decision->duplicate.worker, taker, hook, &cost);
    return status == SSK_OK ? hand_over(sim, taker, cost) : status;
}

/* Lets two workers swap their threads. */
static int exchange(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    int32_t n = sim->problem.n_workers;
    int32_t first = (int32_t)decision->exchange.worker, second = (int32_t)decision->exchange.other;
    if (first < 0 || first >= n || second < 0 || second >= n || first == second)
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    ssk_exchange(sim, first, second, decision->exchange.cost_ps);
    return SSK_OK;
}

/* Carries out a decision of a hook, but of on_idle. */
static int carry_out(ssk_sim_t *sim, const ssk_decision_t *decision, int hook)
{
    if (!ssk_may_decide(decision, hook))
        return ssk_refuse(sim, hook, SSK_REASON_KIND);
    switch (decision->kind) {
    case SSK_DECIDE_PREEMPT: return preempt(sim, decision, hook);
    case SSK_DECIDE_TRANSFER: return transfer(sim, decision, SSK_NONE, hook);
    case SSK_DECIDE_EXCHANGE: return exchange(sim, decision, hook);
    case SSK_DECIDE_DUPLICATE: return duplicate(sim, decision, hook);
    case SSK_DECIDE_KILL: return ssk_kill(sim, (int32_t)decision->kill.worker, hook);
    case SSK_DECIDE_ACQUIRE_ORDER: return change_order(sim, decision, hook);
    case SSK_DECIDE_PACE: return set_pace(sim, decision, hook);
    case SSK_DECIDE_MOVE: return add_move(sim, decision, hook);
    case SSK_DECIDE_REST: return rest(sim, decision);
    default: return add_wake(sim, decision, hook);
    }
}

int ssk_answer(ssk_sim_t *sim, const ssk_answer_t *answer, int hook)
{
    for (int32_t i = 0; i < answer->n_decisions; i++) {
        int status = carry_out(sim, &answer->decisions[i], hook);
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
        return ssk_fail(sim, ssk_runtime_error(&sim->runtime));
    return ssk_answer(sim, &answer, SSK_ON_START);
}

/* Notes a look of the policy before what it decides is carried out: an idle one is nothing that happens. */
static void note_look(ssk_sim_t *sim, const ssk_answer_t *answer)
{
    if (answer->n_decisions != 1)
        return;
    const ssk_decision_t *only = &answer->decisions[0];
    sim->n_idle_looks += only->kind == SSK_DECIDE_REST || (only->kind == SSK_DECIDE_WAKE && only->wake.step_ps > 0);
}

static int tell_on_wake(ssk_sim_t *sim, int64_t tag, bool is_look)
{
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    if (sim->hooks.on_wake(sim->hooks.context, tag, &answer) < 0)
        return ssk_fail(sim, ssk_runtime_error(&sim->runtime));
    if (is_look)
        note_look(sim, &answer);
    return ssk_answer(sim, &answer, SSK_ON_WAKE);
}

int ssk_wake_policy(ssk_sim_t *sim)
{
    int64_t tag = ssk_wakes_take(&sim->wakes);
    ssk_set_rare(sim, SSK_RARE_WAKE, sim->wakes.n > 0 ? sim->wakes.heap[0].time : SSK_NO_TIMER);
    return tell_on_wake(sim, tag, true);
}

int ssk_tell_on_wake(ssk_sim_t *sim, int64_t tag)
{
    return tell_on_wake(sim, tag, false);
}

int ssk_fire_policy_timer(ssk_sim_t *sim)
{
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    ssk_set_rare(sim, SSK_RARE_POLICY, ssk_add_ps(sim->now, sim->problem.timer_period_ps));
    ssk_event(sim, SSK_TIMER, SSK_NONE, SSK_NONE, 0, 0);
    sim->rest_step_ps = 0;
    if (sim->hooks.on_timer == NULL)
        return SSK_OK;
    if (sim->hooks.on_timer(sim->hooks.context, &answer) < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    note_look(sim, &answer);
    return ssk_answer(sim, &answer, SSK_ON_TIMER);
}

/* Hooks that decide at random from what they see. */
#include "support.h"

static bool aborts(random_hooks_t *state)
{
    return ++state->n_calls == state->abort_at;
}

static ssk_decision_t random_transfer(random_hooks_t *state);

/* Now and then a wake, at the present instant or later, from numbers of its own. */
static bool wants_wake(random_hooks_t *state, ssk_decision_t *decision)
{
    static const int64_t DELAYS[] = {0, 0, 1, 100, 5000, 90000};
    if (!state->wakes || state->n_wakes >= 200 || !rng_chance(&state->wake_rng, 0.3))
        return false;
    state->n_wakes++;
    *decision = (ssk_decision_t){.wake = {.kind = SSK_DECIDE_WAKE, .tag = rng_below(&state->wake_rng, 5)}};
    decision->wake.at_ps = ssk_sim_now(state->sim) + rng_pick(&state->wake_rng, DELAYS, 6);
    decision->wake.rank = (int64_t)rng_below(&state->wake_rng, 3) - 1;
    return true;
}

/* Tells whether workers may move a block (rule MV6). */
static bool is_movable(const ssk_problem_t *p, int32_t block)
{
    for (int32_t i = 0; i < p->n_changes; i++)
        if (p->change_speed[i] <= 0.0)
            return false;
    bool is_pooled = p->pooling.n_tasks > 0 && p->pooling.size_class[block] >= 0;
    return !p->copies_data && !is_pooled && (p->follows == NULL || p->follows[block] == SSK_STAYS);
}

/* Now and then a move of any block by any worker, from the numbers of wakes. */
static bool wants_move(random_hooks_t *state, ssk_decision_t *decision)
{
    static const int64_t COSTS[] = {0, 1, 5000};
    const ssk_problem_t *p = &state->scenario->problem;
    int32_t block = rng_below(&state->wake_rng, p->n_blocks);
    if (!state->wakes || state->n_moves >= 60 || !is_movable(p, block) || !rng_chance(&state->wake_rng, 0.3))
        return false;
    state->n_moves++;
    *decision = (ssk_decision_t){.move = {.kind = SSK_DECIDE_MOVE, .block = block}};
    decision->move.worker = rng_below(&state->wake_rng, p->n_workers);
    decision->move.node = rng_below(&state->wake_rng, p->n_domains);
    decision->move.cost_ps = rng_pick(&state->wake_rng, COSTS, 3);
    decision->move.tag = rng_below(&state->wake_rng, 5);
    return true;
}

/* Up to two transfers, of which some land at once, or paces; then perhaps a wake and a move. */
static void decide(random_hooks_t *state, ssk_decision_t *decisions, ssk_answer_t *answer)
{
    int32_t n_workers = state->scenario->problem.n_workers;
    while (answer->n_decisions < 2 && state->n_transfers < 200 && rng_chance(&state->rng, 0.2)) {
        ssk_decision_t *d = &decisions[answer->n_decisions++];
        if (rng_chance(&state->rng, 0.3)) {
            *d = (ssk_decision_t){.pace = {.kind = SSK_DECIDE_PACE, .worker = rng_below(&state->rng, n_workers)}};
            d->pace.part = SSK_WHOLE_PACE / (1 + rng_below(&state->rng, 3));
            continue;
        }
        state->n_transfers++;
        *d = random_transfer(state);
        d->transfer.delay_ps = rng_chance(&state->rng, 0.5) ? 0 : d->transfer.delay_ps;
    }
    answer->n_decisions += wants_wake(state, &decisions[answer->n_decisions]);
    answer->n_decisions += wants_move(state, &decisions[answer->n_decisions]);
    answer->decisions = decisions;
}

static int on_ready(void *context, int32_t task, int32_t worker, ssk_answer_t *answer)
{
    random_hooks_t *state = context;
    const ssk_plan_t *plan = &state->scenario->plan;
    const ssk_problem_t *p = &state->scenario->problem;
    int32_t n_instances[] = {p->n_workers, p->n_domains, p->n_sockets, 1, p->n_classes};
    CHECK(task >= 0 && worker >= SSK_NONE && worker < p->n_workers);
    if (aborts(state))
        return -1;
    CHECK(answer->group == SSK_NONE && answer->n_decisions == 0);
    decide(state, state->ready_decisions, answer);
    if (rng_chance(&state->rng, 0.7))
        return 0;
    answer->group = rng_below(&state->rng, plan->n_groups);
    answer->instance = rng_below(&state->rng, n_instances[plan->group_scope[answer->group]]);
    return 0;
}

static int on_spawn(void *context, int32_t parent, int32_t child, int32_t worker)
{
    random_hooks_t *state = context;
    CHECK(parent < child && worker >= 0 && worker < state->scenario->problem.n_workers);
    return aborts(state) ? -1 : rng_below(&state->rng, 3);
}

static int on_acquire(void *context, int32_t task, int32_t worker, int32_t group, int32_t instance)
{
    random_hooks_t *state = context;
    CHECK(task >= 0 && worker >= 0 && group >= 0 && group < state->scenario->plan.n_groups && instance >= 0);
    return aborts(state) ? -1 : 0;
}

static int32_t running_worker(random_hooks_t *state)
{
    int32_t n = state->scenario->problem.n_workers, first = rng_below(&state->rng, n);
    for (int32_t i = 0; i < n; i++)
        if (ssk_sim_running_task(state->sim, (first + i) % n) != SSK_NONE)
            return (first + i) % n;
    return SSK_NONE;
}

static ssk_decision_t random_transfer(random_hooks_t *state)
{
    static const int64_t DELAYS[] = {1, 100, 5000, 90000};
    const ssk_plan_t *plan = &state->scenario->plan;
    const ssk_problem_t *p = &state->scenario->problem;
    int32_t n_instances[] = {p->n_workers, p->n_domains, p->n_sockets, 1, p->n_classes};
    ssk_decision_t d = {.transfer = {.kind = SSK_DECIDE_TRANSFER, .task = SSK_NONE, .thief = SSK_NONE}};
    d.transfer.group = rng_below(&state->rng, plan->n_groups);
    d.transfer.instance = rng_below(&state->rng, n_instances[plan->group_scope[d.transfer.group]]);
    d.transfer.to_group = rng_below(&state->rng, plan->n_groups);
    d.transfer.to_instance = rng_below(&state->rng, n_instances[plan->group_scope[d.transfer.to_group]]);
    d.transfer.count = 1 + rng_below(&state->rng, 3);
    d.transfer.take = rng_below(&state->rng, 2);
    if (rng_chance(&state->rng, 0.3))
        d.transfer.task = rng_below(&state->rng, state->scenario->graph.n_tasks);
    d.transfer.delay_ps = rng_pick(&state->rng, DELAYS, 4);
    if (plan->group_scope[d.transfer.group] == SSK_SCOPE_WORKER && rng_chance(&state->rng, 0.3))
        d.transfer.thief = rng_below(&state->rng, p->n_workers);
    return d;
}

static int on_idle(void *context, int32_t worker, ssk_decision_t *decision_ret)
{
    random_hooks_t *state = context;
    int32_t victim = running_worker(state);
    if (aborts(state))
        return -1;
    if (state->n_transfers < 200 && rng_chance(&state->rng, 0.3)) {
        state->n_transfers++;
        *decision_ret = random_transfer(state);
        return 1;
    }
    if (victim == SSK_NONE || state->n_snatches == 0 || rng_chance(&state->rng, 0.5))
        return wants_wake(state, decision_ret);
    state->n_snatches--;
    *decision_ret = (ssk_decision_t){.preempt = {SSK_DECIDE_PREEMPT, victim, worker}};
    return 1;
}

static int on_start(void *context, int32_t task, int32_t worker, ssk_answer_t *answer)
{
    random_hooks_t *state = context;
    CHECK(task >= 0 && worker >= 0 && answer->n_decisions == 0);
    decide(state, state->start_decisions, answer);
    return aborts(context) ? -1 : 0;
}

static int on_finish(void *context, int32_t task, int32_t worker, ssk_answer_t *answer)
{
    random_hooks_t *state = context;
    CHECK(task >= 0 && worker >= 0 && answer->n_decisions == 0);
    decide(state, state->finish_decisions, answer);
    return aborts(context) ? -1 : 0;
}

static int decide_on_workers(random_hooks_t *state)
{
    int32_t victim = running_worker(state), taker = SSK_NONE;
    state->decisions[0] = random_transfer(state);
    if (victim == SSK_NONE)
        return 1;
    for (int32_t w = 0; w < state->scenario->problem.n_workers; w++)
        if (ssk_sim_is_waiting(state->sim, w) && rng_chance(&state->rng, 0.5))
            taker = w;
    state->decisions[1] = (ssk_decision_t){.preempt = {SSK_DECIDE_PREEMPT, victim, taker}};
    int32_t n = state->scenario->problem.n_workers, first = rng_below(&state->rng, n);
    int32_t second = (first + 1 + rng_below(&state->rng, n > 1 ? n - 1 : 1)) % n;
    state->decisions[3] = (ssk_decision_t){.acquire_order = {SSK_DECIDE_ACQUIRE_ORDER, 3}};
    state->decisions[2] = (ssk_decision_t){.exchange = {SSK_DECIDE_EXCHANGE, first, second, 0}};
    state->decisions[2].exchange.cost_ps = 300 * rng_below(&state->rng, 2);
    if (n == 1)
        state->decisions[2] = state->decisions[3];
    return n > 1 ? 3 + rng_below(&state->rng, 2) : 3;
}

static const ssk_order_t *order(void *context, int64_t number)
{
    CHECK(number == 3);
    return &((random_hooks_t *)context)->scenario->plan.order;
}

/* Hands over n decisions on workers, and perhaps a wake and a move. */
static void answer_timed(random_hooks_t *state, int n, ssk_answer_t *answer)
{
    answer->decisions = state->decisions;
    answer->n_decisions = n + wants_wake(state, &state->decisions[n]);
    answer->n_decisions += wants_move(state, &state->decisions[answer->n_decisions]);
}

static int on_timer(void *context, ssk_answer_t *answer)
{
    random_hooks_t *state = context;
    if (aborts(state))
        return -1;
    answer_timed(state, decide_on_workers(state), answer);
    return 0;
}

/* What the timer decides now and then, at the times of wakes, from numbers of its own. */
static int on_wake(void *context, int64_t tag, ssk_answer_t *answer)
{
    random_hooks_t *state = context;
    CHECK(tag >= 0 && tag < 5);
    if (aborts(state))
        return -1;
    rng_t others = state->rng;
    state->rng = state->wake_rng;
    int n = rng_chance(&state->rng, 0.3) ? decide_on_workers(state) : 0;
    state->wake_rng = state->rng;
    state->rng = others;
    answer_timed(state, n, answer);
    return 0;
}

ssk_hooks_t random_hooks(random_hooks_t *state, const scenario_t *scenario, uint64_t seed)
{
    memset(state, 0, sizeof(*state));
    state->rng.state = seed;
    state->wake_rng.state = seed + 7;
    state->scenario = scenario;
    state->n_snatches = 20;
    ssk_hooks_t hooks = {.context = state, .order = order};
    if (seed & 16)
        hooks.on_spawn = on_spawn;
    if (seed & 32)
        hooks.on_acquire = on_acquire;
    if (seed & 1)
        hooks.on_ready = on_ready;
    if (seed & 2)
        hooks.on_idle = on_idle;
    if (seed & 4)
        hooks.on_finish = on_finish;
    if (seed & 8)
        hooks.on_timer = on_timer;
    if (seed & 64)
        hooks.on_start = on_start;
    if (seed & 128) {
        hooks.on_wake = on_wake;
        state->wakes = true;
    }
    return hooks;
}

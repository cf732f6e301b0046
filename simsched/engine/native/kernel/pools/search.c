/*
 * Pools and the search for work; docs/semantics.md, rules P to N.
 *
 * A push costs O(1) when nobody is parked. Otherwise the parked workers that may take from the pool are found as a bit
 * set, with a few operations per step of the acquire order and 64 workers.
 */
#include "pools/search.h"

#include "copies/gather.h"
#include "run/decisions.h"
#include "run/run.h"
#include "run/worker.h"

static int64_t held(const int64_t *table, int32_t length, int32_t index)
{
    return table[index < length ? index : length - 1];
}

int64_t ssk_steal_cost(const ssk_sim_t *sim, int32_t distance)
{
    return held(sim->problem.costs.steal_ps, sim->problem.costs.n_steal, distance);
}

/* What the distances from a worker to the instances of a scope follow from. */
typedef struct {
    const int32_t *hops;   /* from the worker's domain, per domain */
    const int32_t *domain; /* per instance */
    const int32_t *core;   /* per instance; NULL if an instance is not a worker */
    int32_t own_core;
} ssk_nearness_t;

static inline ssk_nearness_t nearness(const ssk_sim_t *sim, int32_t worker, int32_t scope)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_nearness_t near = {
        .hops = &p->domain_hops[p->worker_domain[worker] * p->n_domains],
        .domain = scope == SSK_SCOPE_WORKER ? p->worker_domain : sim->routes.scope[scope].domain,
        .core = scope == SSK_SCOPE_WORKER ? p->worker_core : NULL,
        .own_core = p->worker_core[worker],
    };
    return near;
}

static inline int32_t distance_to(const ssk_nearness_t *near, int32_t instance)
{
    if (near->core != NULL && near->core[instance] == near->own_core)
        return 0;
    return 1 + near->hops[near->domain[instance]];
}

int32_t ssk_distance(const ssk_sim_t *sim, int32_t worker, int32_t scope, int32_t instance)
{
    ssk_nearness_t near = nearness(sim, worker, scope);
    return distance_to(&near, instance);
}

/* Waits for a pool's lock from time `at` on and holds it; returns when it is free again. */
static int64_t lock(const ssk_sim_t *sim, ssk_pool_t *pool, int64_t at)
{
    pool->lock_free = ssk_add_ps(ssk_max(at, pool->lock_free), sim->problem.costs.lock_hold_ps);
    return pool->lock_free;
}

/* One word of the set of workers that wait for tasks: those parked, and the one that ends a task and looks next. */
static inline uint64_t waiting(const ssk_sim_t *sim, int32_t number)
{
    uint64_t ending = sim->ending >> 6 == number ? (uint64_t)1 << (sim->ending & 63) : 0;
    return sim->parked[number] | ending;
}

/* Leaves the waiting, active workers in a set; returns their number. */
static int32_t keep_waiting(const ssk_sim_t *sim, uint64_t *set)
{
    int32_t n = 0;
    for (int32_t i = 0; i < sim->routes.n_words; i++) {
        set[i] &= waiting(sim, i) & sim->routes.active[i];
        for (uint64_t bits = set[i]; bits != 0; bits &= bits - 1)
            n++;
    }
    return n;
}

/* Leaves the workers of one word of a set whose domains expect nothing any more; bits of no worker must be 0. */
static uint64_t keep_supplied(const ssk_sim_t *sim, uint64_t word, int32_t number)
{
    uint64_t kept = word;
    for (uint64_t bits = word; bits != 0; bits &= bits - 1)
        if (sim->expected[ssk_home(sim, 64 * number + ssk_lowest_bit(bits))] > 0)
            kept &= ~(bits & (~bits + 1));
    return kept;
}

/*
 * Finds the waiting workers that may take from an instance: those for which it is their own, if there are any, otherwise
 * the others; both where an iteration begins. Returns their number and, in *found, the set.
 */
static int32_t find_wakeable(ssk_sim_t *sim, int32_t group, int32_t instance, const uint64_t **found)
{
    const ssk_plan_t *plan = &sim->plan;
    const ssk_routes_t *routes = &sim->routes;
    size_t n_words = (size_t)routes->n_words;
    int32_t scope = plan->group_scope[group];
    uint32_t n_entries = ssk_pools_at(&sim->pools, group, instance)->count;
    uint64_t *owners = sim->candidates, *others = owners + n_words, *reached = others + n_words;
    memset(owners, 0, 2 * n_words * sizeof(*owners));
    for (int32_t step = 0; step < plan->order.n_steps; step++) {
        if (plan->order.step_group[step] != group || n_entries < (uint32_t)plan->order.step_least[step])
            continue;
        if (plan->n_devices > 0 && !ssk_admits(sim, step, instance))
            continue;
        if (plan->order.step_choice[step] == SSK_UNIFORM) {
            memset(reached, 0, n_words * sizeof(*reached));
            ssk_routes_add_reaching(routes, scope, plan->order.step_where[step], instance, reached);
        } else {
            memcpy(reached, ssk_victims_reaching(&sim->victims, plan->order.step_list[step], instance),
                   n_words * sizeof(*reached));
        }
        uint64_t *set = plan->order.step_where[step] == SSK_OWN ? owners : others;
        for (size_t i = 0; i < n_words; i++) {
            uint64_t word = reached[i];
            if (plan->order.step_when[step] & SSK_WHEN_HEAD_WORKER)
                word &= routes->heads[i];
            if (plan->order.step_when[step] & SSK_WHEN_NOT_HEAD_WORKER)
                word &= ~routes->heads[i];
            if (plan->order.step_when[step] & SSK_WHEN_DOMAIN_INACTIVE)
                word &= sim->inactive[i];
            if (plan->order.step_when[step] & SSK_WHEN_DOMAIN_SUPPLIED)
                word = keep_supplied(sim, word & waiting(sim, (int32_t)i), (int32_t)i);
            set[i] |= word;
        }
    }
    for (size_t i = 0; sim->leaves_barrier && i < n_words; i++)
        owners[i] |= others[i];
    int32_t n = keep_waiting(sim, owners);
    *found = n > 0 ? owners : others;
    return n > 0 ? n : keep_waiting(sim, others);
}

/* The k-th worker of a set. */
static int32_t pick(const uint64_t *set, int32_t k)
{
    for (int32_t word = 0;; word++)
        for (uint64_t bits = set[word]; bits != 0; bits &= bits - 1)
            if (k-- == 0)
                return 64 * word + ssk_lowest_bit(bits);
}

void ssk_wake(ssk_sim_t *sim, int32_t worker, int32_t party)
{
    ssk_set_parked(sim, worker, false);
    sim->workers[worker].party = party;
    sim->workers[worker].lag = sim->lag;
    sim->workers[worker].then = SSK_ACT_SEARCH;
    ssk_timers_set(&sim->timers, worker, sim->now);
    ssk_event(sim, SSK_WAKE, worker, SSK_NONE, party, 0);
}

void ssk_wake_for(ssk_sim_t *sim, int32_t group, int32_t instance)
{
    if (sim->n_parked == 0)
        return;
    const uint64_t *set;
    int32_t n = find_wakeable(sim, group, instance, &set);
    if (n == 0)
        return;
    int32_t k = n > 1 ? (int32_t)ssk_draw_below(&sim->problem.wake_stream, (uint32_t)n) : 0;
    int32_t worker = pick(set, k);
    if (worker == sim->ending)
        sim->ending = SSK_NONE;
    else
        ssk_wake(sim, worker, n);
    sim->workers[worker].called_group = group;
    sim->workers[worker].called_instance = instance;
}

void ssk_pass_on(ssk_sim_t *sim, int32_t worker)
{
    int32_t group = sim->workers[worker].called_group, instance = sim->workers[worker].called_instance;
    sim->workers[worker].called_group = SSK_NONE;
    if (group != SSK_NONE && ssk_pools_at(&sim->pools, group, instance)->count > 0)
        ssk_wake_for(sim, group, instance);
}

/* The worker to whose instance a task without a pusher goes. */
static int32_t worker_in_turn(ssk_sim_t *sim)
{
    const ssk_routes_t *routes = &sim->routes;
    int32_t turn = sim->roots_placed, last = sim->last_worker;
    if (++sim->roots_placed == routes->n_active)
        sim->roots_placed = 0;
    if (sim->plan.roots == SSK_LAST && last != SSK_NONE && ssk_set_has(routes->active, last))
        return last;
    return routes->active_workers[sim->plan.roots == SSK_ROUND_ROBIN ? turn : 0];
}

/* Chooses the pool of a ready task. */
static int choose_pool(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *group, int32_t *instance,
                       ssk_answer_t *answer)
{
    const ssk_plan_t *plan = &sim->plan;
    if (sim->hooks.on_ready != NULL) {
        if (sim->hooks.on_ready(sim->hooks.context, task, pusher, answer) < 0)
            return ssk_fail(sim, ssk_runtime_error(&sim->runtime));
        if (answer->group != SSK_NONE) {
            *group = answer->group;
            *instance = answer->instance;
            if (*group >= 0 && *group < plan->n_groups && *instance >= 0 &&
                *instance < ssk_pools_n_instances(&sim->pools, *group))
                return SSK_OK;
            return ssk_refuse(sim, SSK_ON_READY, SSK_REASON_KIND);
        }
    }
    *group = plan->group_of[task];
    *instance = plan->instance_of[task];
    if (*instance >= 0)
        return SSK_OK;
    if (pusher == SSK_NONE)
        pusher = worker_in_turn(sim);
    *instance = sim->routes.scope[plan->group_scope[*group]].own[pusher];
    return SSK_OK;
}

int ssk_enter(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance, int32_t pusher)
{
    if (sim->conditions.n_failed > 0 && ssk_is_dead(sim, group, instance))
        instance = sim->routes.scope[sim->plan.group_scope[group]].own[worker_in_turn(sim)];
    ssk_event(sim, SSK_TASK_READY, pusher, task, group, instance);
    int status = ssk_pools_push(&sim->pools, &sim->allocator, group, ssk_pools_at(&sim->pools, group, instance), task);
    if (status == SSK_OK && sim->problem.copies_data && sim->plan.group_prefetches[group] &&
        sim->tasks.phase[task] == SSK_TASK_NEW)
        status = ssk_prefetch(sim, task, group, instance);
    if (status == SSK_OK)
        ssk_wake_for(sim, group, instance);
    return status;
}

int ssk_push(ssk_sim_t *sim, int32_t task, int32_t pusher, bool continuation, int64_t *clock)
{
    int32_t group = 0, instance = pusher;
    int32_t supplied = SSK_NONE;
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    if (!continuation) {
        supplied = ssk_note_ready(sim, task);
        int status = choose_pool(sim, task, pusher, &group, &instance, &answer);
        if (status != SSK_OK)
            return status;
    }
    if (pusher != SSK_NONE && sim->plan.group_locked[group])
        *clock = lock(sim, ssk_pools_at(&sim->pools, group, instance), *clock);
    int status = ssk_enter(sim, task, group, instance, pusher);
    if (status == SSK_OK && answer.n_decisions > 0)
        status = ssk_answer(sim, &answer, SSK_ON_READY);
    if (status == SSK_OK && supplied != SSK_NONE)
        ssk_wake_supplied(sim, supplied);
    return status;
}

int32_t ssk_note_ready(ssk_sim_t *sim, int32_t task)
{
    if (sim->tasks.marked == NULL || sim->tasks.marked[task] != SSK_EXPECTED)
        return SSK_NONE;
    int32_t domain = sim->plan.instance_of[task];
    sim->tasks.marked[task] = SSK_NONE;
    return --sim->expected[domain] == 0 ? domain : SSK_NONE;
}

/* Tells whether the conditions of a step hold for a worker. */
static inline bool may_use(const ssk_sim_t *sim, int32_t when, int32_t worker)
{
    if ((when & SSK_WHEN_HEAD_WORKER) && !ssk_set_has(sim->routes.heads, worker))
        return false;
    if ((when & SSK_WHEN_NOT_HEAD_WORKER) && ssk_set_has(sim->routes.heads, worker))
        return false;
    if ((when & SSK_WHEN_DOMAIN_INACTIVE) && !ssk_set_has(sim->inactive, worker))
        return false;
    return !((when & SSK_WHEN_DOMAIN_SUPPLIED) && sim->expected[ssk_home(sim, worker)] > 0);
}

void ssk_wake_supplied(ssk_sim_t *sim, int32_t domain)
{
    for (int32_t i = 0; sim->n_parked > 0 && i < sim->routes.n_active; i++) {
        int32_t worker = sim->routes.active_workers[i];
        if (ssk_home(sim, worker) != domain || sim->workers[worker].state != SSK_PARKED)
            continue;
        for (int32_t step = 0; step < sim->plan.order.n_steps; step++) {
            int32_t when = sim->plan.order.step_when[step];
            if ((when & SSK_WHEN_DOMAIN_SUPPLIED) && may_use(sim, when, worker)) {
                ssk_wake(sim, worker, 1);
                break;
            }
        }
    }
}

/* Sets whether the workers of a domain may use steps that ask for an inactive domain. */
static void set_inactive(ssk_sim_t *sim, int32_t domain, bool inactive)
{
    size_t n_words = (size_t)sim->routes.n_words;
    const uint64_t *members = &sim->routes.of_domain[(size_t)domain * n_words];
    for (size_t i = 0; i < n_words; i++) {
        if (inactive)
            sim->inactive[i] |= members[i];
        else
            sim->inactive[i] &= ~members[i];
    }
}

/* Keeps the taker's domain active if the task comes from a group that marks. */
static void mark_domain(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker)
{
    if (!sim->plan.group_marks_active[group] || sim->tasks.marked[task] >= 0)
        return;
    int32_t domain = ssk_home(sim, worker);
    sim->tasks.marked[task] = domain;
    if (sim->marked_tasks[domain]++ == 0)
        set_inactive(sim, domain, false);
}

void ssk_release_domain(ssk_sim_t *sim, int32_t task)
{
    if (sim->tasks.marked == NULL || sim->tasks.marked[task] < 0)
        return;
    int32_t domain = sim->tasks.marked[task];
    sim->tasks.marked[task] = SSK_NONE;
    if (--sim->marked_tasks[domain] > 0)
        return;
    set_inactive(sim, domain, true);
    for (int32_t i = 0; sim->n_parked > 0 && i < sim->routes.n_active; i++) {
        int32_t worker = sim->routes.active_workers[i];
        if (ssk_home(sim, worker) == domain && sim->workers[worker].state == SSK_PARKED)
            ssk_wake(sim, worker, 1);
    }
}

/* Number of candidates of a step that are not empty. */
static int32_t count_filled(const ssk_sim_t *sim, int32_t group, int32_t where, int32_t worker)
{
    const ssk_pools_t *pools = &sim->pools;
    int32_t instance = sim->routes.scope[sim->plan.group_scope[group]].own[worker];
    if (instance < 0)
        return pools->filled_total[group];
    const ssk_pool_t *own = ssk_pools_at(pools, group, instance);
    int32_t home = ssk_home(sim, worker);
    int32_t near = pools->filled[group * pools->n_domains + home];
    int32_t own_filled = own->is_candidate && own->count > 0, own_near = own_filled && own->domain == home;
    if (where == SSK_SAME_DOMAIN)
        return near - own_near;
    if (where == SSK_OTHER_DOMAINS)
        return pools->filled_total[group] - near - (own_filled - own_near);
    return pools->filled_total[group] - own_filled;
}

typedef struct {
    int32_t step, group, instance;
    bool is_own;
} found_t;

/* Counts the probe of a search among candidates that are all empty. */
static void probe_in_vain(ssk_sim_t *sim, int32_t where)
{
    int32_t nearest = where == SSK_SAME_DOMAIN ? 1 : 2, highest = sim->problem.n_distances - 1;
    sim->probes[nearest < highest ? nearest : highest]++;
}

/* Tells whether a candidate of a step that chooses uniformly has `least` entries. */
static bool some_has(const ssk_pool_t *pools, const ssk_candidates_t *candidates, uint32_t least)
{
    for (int32_t k = 0; k < candidates->n; k++)
        if (pools[ssk_candidate(candidates, k)].count >= least)
            return true;
    return false;
}

/* How many instances a step may draw. */
static int64_t attempts(const ssk_plan_t *plan, int32_t step)
{
    return plan->order.step_attempts[step] > 0 ? plan->order.step_attempts[step] : INT64_MAX;
}

/* The same as draw_victim() for steps with ranks or weights. */
static bool draw_listed(ssk_sim_t *sim, int32_t step, int32_t worker, bool *has_failed, int32_t *instance_ret)
{
    const ssk_plan_t *plan = &sim->plan;
    int32_t group = plan->order.step_group[step];
    uint32_t least = (uint32_t)plan->order.step_least[step];
    int64_t row = (int64_t)plan->order.step_list[step] * sim->problem.n_workers + worker;
    const ssk_pool_t *pools = ssk_pools_at(&sim->pools, group, 0);
    const ssk_nearness_t near = nearness(sim, worker, plan->group_scope[group]);
    int64_t i = plan->order.list_ptr[row], end = plan->order.list_ptr[row + 1];
    if (i == end)
        return false;
    while (i < end && pools[plan->order.list_instance[i]].count < least)
        i++;
    if (i == end) {
        probe_in_vain(sim, plan->order.step_where[step]);
        *has_failed = true;
        return false;
    }
    ssk_victims_open(&sim->victims, &plan->order, plan->order.step_choice[step], row);
    for (int64_t left = attempts(plan, step); left > 0; left--) {
        int32_t instance = ssk_victims_draw(&sim->victims, &sim->problem.victim_stream);
        if (pools[instance].count >= least) {
            *instance_ret = instance;
            return true;
        }
        sim->probes[distance_to(&near, instance)]++;
        *has_failed = true;
    }
    return false;
}

/* Draws candidates until one is not empty or no attempts are left. Returns false when none is found; counts failed probes. */
static bool draw_victim(ssk_sim_t *sim, int32_t step, int32_t worker, bool *has_failed, int32_t *instance_ret)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t group = sim->plan.order.step_group[step], where = sim->plan.order.step_where[step];
    int32_t scope = sim->plan.group_scope[group];
    const uint32_t least = (uint32_t)sim->plan.order.step_least[step];
    ssk_candidates_t candidates = ssk_routes_candidates(&sim->routes, scope, where, worker);
    if (candidates.n <= 0)
        return false;
    if (count_filled(sim, group, where, worker) == 0 ||
        (least > 1 && !some_has(ssk_pools_at(&sim->pools, group, 0), &candidates, least))) {
        probe_in_vain(sim, where);
        *has_failed = true;
        return false;
    }
    /* Where hardly any pool holds tasks most of the time goes into this loop; what it needs is in local variables. */
    const ssk_random_t random = p->victim_stream;
    const ssk_pool_t *pools = ssk_pools_at(&sim->pools, group, 0);
    const ssk_nearness_t near = nearness(sim, worker, scope);
    int64_t *probes = sim->probes;
    for (int64_t left = attempts(&sim->plan, step); left > 0; left--) {
        int32_t instance = ssk_candidate(&candidates, (int32_t)ssk_draw_below(&random, (uint32_t)candidates.n));
        if (pools[instance].count >= least) {
            *instance_ret = instance;
            return true;
        }
        probes[distance_to(&near, instance)]++;
        *has_failed = true;
    }
    return false;
}

/* Tries the steps of the acquire order; true when a pool that is not empty has been found. */
static bool find_pool(ssk_sim_t *sim, int32_t worker, found_t *found, bool *has_failed)
{
    const ssk_plan_t *plan = &sim->plan;
    for (int32_t step = 0; step < plan->order.n_steps; step++) {
        int32_t when = plan->order.step_when[step], group = plan->order.step_group[step];
        if (!may_use(sim, when, worker))
            continue;
        found->step = step;
        found->group = group;
        found->is_own = plan->order.step_where[step] == SSK_OWN;
        if (found->is_own) {
            found->instance = sim->routes.scope[plan->group_scope[group]].own[worker];
            if (ssk_pools_at(&sim->pools, group, found->instance)->count >=
                    (uint32_t)plan->order.step_least[step] &&
                (plan->n_devices == 0 || ssk_admits(sim, step, found->instance)))
                return true;
        } else if (plan->order.step_choice[step] != SSK_UNIFORM) {
            if (draw_listed(sim, step, worker, has_failed, &found->instance))
                return true;
        } else if (draw_victim(sim, step, worker, has_failed, &found->instance)) {
            return true;
        }
    }
    return false;
}

/* Cost of the failed probes of a search, which are counted when the search has succeeded. */
static int64_t settle_probes(ssk_sim_t *sim, bool count)
{
    const ssk_problem_t *p = &sim->problem;
    int64_t cost = 0;
    for (int32_t d = 0; d < p->n_distances; d++) {
        if (sim->probes[d] == 0)
            continue;
        int64_t each = held(p->costs.steal_probe_ps, p->costs.n_steal_probe, d);
        cost = ssk_add_ps(cost, ssk_times_ps(sim->probes[d], each));
        if (count)
            sim->failed_probes[d] += sim->probes[d];
        sim->probes[d] = 0;
    }
    return cost;
}

/* Nothing was found: asks the policy, then parks. */
static int stay_idle(ssk_sim_t *sim, int32_t worker)
{
    if (sim->hooks.on_idle != NULL && ssk_set_has(sim->routes.active, worker)) {
        bool has_snatched = false;
        int action = ssk_ask_on_idle(sim, worker, &has_snatched);
        if (action < 0 || has_snatched)
            return action;
    }
    ssk_event(sim, SSK_PARK, worker, SSK_NONE, 0, 0);
    ssk_set_parked(sim, worker, true);
    ssk_set_busy(sim, worker, false);
    return SSK_WAIT;
}

int ssk_search(ssk_sim_t *sim, int32_t worker)
{
    if (ssk_has_moves(&sim->moves, worker)) {
        ssk_pass_on(sim, worker);
        return ssk_begin_move(sim, worker);
    }
    const ssk_costs_t *costs = &sim->problem.costs;
    ssk_worker_t *w = &sim->workers[worker];
    int32_t party = w->party;
    found_t found;
    found.instance = SSK_NONE; /* some compilers cannot tell that it is set */
    bool has_failed = false, has_found = false;
    w->party = 1;
    if (ssk_set_has(sim->routes.active, worker))
        has_found = find_pool(sim, worker, &found, &has_failed);
    int64_t probe_cost = has_failed ? settle_probes(sim, has_found) : 0;
    if (!has_found) {
        ssk_pass_on(sim, worker);
        return stay_idle(sim, worker);
    }
    ssk_pool_t *pool = ssk_pools_at(&sim->pools, found.group, found.instance);
    int32_t task = ssk_pools_take(&sim->pools, found.group, pool, sim->plan.order.step_take[found.step] == SSK_NEWEST);
    if (sim->plan.n_devices > 0)
        ssk_occupy(sim, task, found.group, found.instance);
    int64_t at = sim->now + probe_cost / party, cost;
    int32_t distance = 0;
    if (found.is_own) {
        if (sim->plan.group_locked[found.group])
            at = lock(sim, pool, at);
        cost = at - sim->now + costs->pop_ps;
    } else {
        distance = ssk_distance(sim, worker, sim->plan.group_scope[found.group], found.instance);
        int64_t start = lock(sim, pool, at) - costs->lock_hold_ps;
        cost = ssk_add_ps(start, ssk_steal_cost(sim, distance)) - sim->now;
    }
    ssk_event(sim, SSK_ACQUIRE, worker, task, ((int64_t)found.group << 32) + found.instance, cost);
    if (!found.is_own) {
        ssk_event(sim, SSK_STEAL, worker, task, found.instance, distance);
        sim->steals[distance]++;
    }
    if (sim->hooks.on_acquire != NULL &&
        sim->hooks.on_acquire(sim->hooks.context, task, worker, found.group, found.instance) < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    mark_domain(sim, task, found.group, worker);
    ssk_set_busy(sim, worker, true);
    if (found.group != w->called_group || found.instance != w->called_instance)
        ssk_pass_on(sim, worker);
    w->called_group = SSK_NONE;
    if (sim->plan.n_devices > 0 && sim->plan.group_device[found.group] != SSK_NONE)
        ssk_offer(sim, sim->devices.base[sim->plan.group_device[found.group]] + found.instance);
    w->task = task;
    w->counters.acquire_ps += cost;
    return ssk_pay(sim, worker, cost, SSK_ACT_BEGIN);
}

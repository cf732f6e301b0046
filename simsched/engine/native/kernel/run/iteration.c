/*
 * Iterations and migration; docs/semantics.md, rules I.
 */
#include "run/iteration.h"

#include "memory/balancing.h"
#include "memory/homes.h"
#include "run/decisions.h"
#include "run/life.h"
#include "run/ranges.h"
#include "run/run.h"
#include "run/worker.h"

/* Lays out the pools of a plan. */
static int lay_out_pools(ssk_sim_t *sim)
{
    const ssk_plan_t *plan = &sim->plan;
    int32_t n_domains = sim->problem.n_domains;
    int status = ssk_pools_reset(&sim->pools, &sim->allocator, plan->n_groups, n_domains);
    for (int32_t group = 0; group < plan->n_groups && status == SSK_OK; group++) {
        const ssk_scope_t *scope = &sim->routes.scope[plan->group_scope[group]];
        status = ssk_pools_add_group(&sim->pools, &sim->allocator, group, scope->n_instances);
        for (int32_t i = 0; i < scope->n_instances && status == SSK_OK; i++) {
            ssk_pool_t *pool = ssk_pools_at(&sim->pools, group, i);
            pool->domain = scope->domain[i];
            pool->is_candidate = scope->position[i] >= 0;
        }
    }
    return status;
}

/* Lays out the devices of a plan. */
static int lay_out_devices(ssk_sim_t *sim)
{
    int32_t n_instances[SSK_N_SCOPES];
    for (int scope = 0; scope < SSK_N_SCOPES; scope++)
        n_instances[scope] = sim->routes.scope[scope].n_instances;
    return ssk_devices_reset(&sim->devices, &sim->allocator, &sim->plan, n_instances, sim->graph.n_tasks);
}

/* Takes over who is active. */
static void set_active(ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_routes_set_active(&sim->routes, sim->plan.active);
    sim->n_parked = 0;
    for (int32_t w = 0; w < p->n_workers; w++) {
        sim->n_parked += ssk_set_has(sim->parked, w) && sim->plan.active[w];
        sim->workers[w].called_group = SSK_NONE;
    }
    memset(sim->marked_tasks, 0, (size_t)p->n_domains * sizeof(*sim->marked_tasks));
    memcpy(sim->inactive, sim->routes.everybody, (size_t)sim->routes.n_words * sizeof(*sim->inactive));
}

/* Counts the tasks that the pools of each domain are to get, in groups that mark it active. */
static void count_expected(ssk_sim_t *sim, bool with_marks)
{
    const ssk_plan_t *plan = &sim->plan;
    memset(sim->expected, 0, (size_t)sim->problem.n_domains * sizeof(*sim->expected));
    for (int32_t task = 0; with_marks && task < sim->graph.n_tasks; task++) {
        int32_t group = plan->group_of[task], instance = plan->instance_of[task];
        if (!plan->group_marks_active[group] || plan->group_scope[group] != SSK_SCOPE_DOMAIN || instance < 0)
            continue;
        sim->tasks.marked[task] = SSK_EXPECTED;
        sim->expected[instance]++;
    }
}

/* Makes an array of counters hold n zeros. */
static int clear_counters(ssk_sim_t *sim, int64_t **array, size_t *capacity, size_t n)
{
    int status = ssk_grow(&sim->allocator, array, capacity, n, sizeof(**array));
    if (status == SSK_OK && n > 0)
        memset(*array, 0, n * sizeof(**array));
    return status;
}

/* Opens the counters of an iteration. */
static int open_counters(ssk_sim_t *sim, int32_t number)
{
    const ssk_problem_t *p = &sim->problem;
    size_t n_samples = (size_t)p->n_blocks * (size_t)sim->plan.n_samples;
    size_t per_iteration = (size_t)p->n_domains * (size_t)p->n_nodes, before = (size_t)sim->n_iterations;
    size_t n_counts = (size_t)p->n_domains * (size_t)p->n_levels + (p->n_levels == 0); /* never no memory at all */
    int status = clear_counters(sim, &sim->group_bytes, &sim->group_bytes_capacity,
                                (size_t)sim->plan.n_counter_groups * (size_t)p->n_node_kinds * 2);
    if (status == SSK_OK)
        status = clear_counters(sim, &sim->group_missing, &sim->group_missing_capacity,
                                (size_t)sim->plan.n_counter_groups * (size_t)p->n_levels);
    if (status == SSK_OK)
        status = clear_counters(sim, &sim->executed_ps, &sim->executed_capacity,
                                sim->plan.times_tasks ? (size_t)sim->graph.n_tasks : 0);
    if (status == SSK_OK)
        status = clear_counters(sim, &sim->samples, &sim->samples_capacity, n_samples);
    if (status == SSK_OK)
        status = clear_counters(sim, &sim->last_period, &sim->last_period_capacity, n_samples);
    if (status == SSK_OK)
        status = ssk_grow(&sim->allocator, &sim->iterations, &sim->iterations_capacity, before + 1,
                          sizeof(*sim->iterations));
    if (status == SSK_OK)
        status = ssk_grow(&sim->allocator, &sim->node_bytes, &sim->node_bytes_capacity,
                          (before + 1) * per_iteration, sizeof(*sim->node_bytes));
    if (status == SSK_OK)
        status = ssk_grow(&sim->allocator, &sim->node_hit_bytes, &sim->node_hit_bytes_capacity,
                          (before + 1) * (size_t)p->n_nodes, sizeof(*sim->node_hit_bytes));
    if (status == SSK_OK)
        status = ssk_grow(&sim->allocator, &sim->cache_counts, &sim->cache_counts_capacity, (before + 1) * n_counts,
                          sizeof(*sim->cache_counts));
    if (status != SSK_OK)
        return status;
    sim->caches.counts = sim->cache_counts + before * n_counts;
    memset(sim->caches.counts, 0, n_counts * sizeof(*sim->cache_counts));
    if (n_samples > 0)
        memset(sim->last_period, -1, n_samples * sizeof(*sim->last_period));
    sim->node_bytes_now = sim->node_bytes + before * per_iteration;
    memset(sim->node_bytes_now, 0, per_iteration * sizeof(*sim->node_bytes));
    sim->node_hit_bytes_now = sim->node_hit_bytes + before * (size_t)p->n_nodes;
    memset(sim->node_hit_bytes_now, 0, (size_t)p->n_nodes * sizeof(*sim->node_hit_bytes));
    ssk_iteration_t iteration = {number, sim->now, sim->now};
    sim->iterations[sim->n_iterations++] = iteration;
    return SSK_OK;
}

static bool arrives_before(const ssk_sim_t *sim, int32_t a, int32_t b)
{
    int64_t at = sim->graph.arrival_ps[a], bt = sim->graph.arrival_ps[b];
    return at < bt || (at == bt && a < b);
}

/* Restores the heap order (latest on top) below place i of the first n arrivals. */
static void sift_down(ssk_sim_t *sim, int32_t i, int32_t n)
{
    int32_t task = sim->arrivals[i];
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && arrives_before(sim, sim->arrivals[child], sim->arrivals[child + 1]))
            child++;
        if (!arrives_before(sim, task, sim->arrivals[child]))
            break;
        sim->arrivals[i] = sim->arrivals[child];
        i = child;
    }
    sim->arrivals[i] = task;
}

/* Heapsort: in place, without the C library's hidden allocation. */
static void sort_arrivals(ssk_sim_t *sim)
{
    int32_t n = sim->n_arrivals;
    bool sorted = true;
    for (int32_t i = 1; i < n && sorted; i++)
        sorted = arrives_before(sim, sim->arrivals[i - 1], sim->arrivals[i]);
    if (sorted)
        return;
    for (int32_t i = n / 2 - 1; i >= 0; i--)
        sift_down(sim, i, n);
    for (int32_t end = n - 1; end > 0; end--) {
        int32_t latest = sim->arrivals[0];
        sim->arrivals[0] = sim->arrivals[end];
        sim->arrivals[end] = latest;
        sift_down(sim, 0, end);
    }
}

/* Sets when the next task arrives. */
static void schedule_arrival(ssk_sim_t *sim)
{
    ssk_set_rare(sim, SSK_RARE_ARRIVAL, SSK_NO_TIMER);
    if (sim->next_arrival == sim->n_arrivals)
        return;
    int64_t start = sim->iterations[sim->n_iterations - 1].start_ps;
    ssk_set_rare(sim, SSK_RARE_ARRIVAL, ssk_add_ps(start, sim->graph.arrival_ps[sim->arrivals[sim->next_arrival]]));
}

int ssk_arrive(ssk_sim_t *sim)
{
    int64_t clock = sim->now;
    int32_t task = sim->arrivals[sim->next_arrival++];
    ssk_note_progress(sim);
    schedule_arrival(sim);
    return ssk_create(sim, task, SSK_NONE, &clock);
}

/* Creates the tasks without a parent, now or when they arrive. */
static int create_roots(ssk_sim_t *sim)
{
    const ssk_graph_t *graph = &sim->graph;
    sim->n_arrivals = sim->next_arrival = 0;
    for (int32_t task = 0; task < graph->n_tasks; task++)
        sim->n_arrivals += ssk_tasks_parent(&sim->tasks, task) == SSK_NONE && graph->arrival_ps[task] > 0;
    int status = ssk_grow(&sim->allocator, &sim->arrivals, &sim->arrivals_capacity, (size_t)sim->n_arrivals,
                          sizeof(*sim->arrivals));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    sim->n_arrivals = 0;
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        if (ssk_tasks_parent(&sim->tasks, task) != SSK_NONE)
            continue;
        if (graph->arrival_ps[task] > 0) {
            sim->arrivals[sim->n_arrivals++] = task;
            continue;
        }
        int64_t clock = sim->now;
        status = ssk_create(sim, task, SSK_NONE, &clock);
        if (status != SSK_OK)
            return status;
    }
    sort_arrivals(sim);
    schedule_arrival(sim);
    return SSK_OK;
}

int ssk_sim_begin_iteration(ssk_sim_t *sim, int32_t number, const ssk_graph_t *graph, const ssk_plan_t *plan, int last)
{
    bool with_marks = false;
    ssk_flaw_t flaw = {NULL, SSK_NONE};
    if (sim->phase != SSK_PHASE_IDLE || sim->has_failed)
        return SSK_ERR_ARGUMENT;
    if (number > 0 && sim->problem.pooling.n_tasks > 0 && graph->n_tasks != sim->problem.pooling.n_tasks) {
        sim->failure.flaw.name = "n_tasks";
        sim->failure.flaw.index = SSK_NONE;
        return ssk_fail(sim, SSK_ERR_ARGUMENT);
    }
    bool known = graph->unchanged && ssk_is_same_graph(&sim->graph, graph);
    if ((!known && ssk_graph_check(graph, &sim->problem, &flaw) != SSK_OK) ||
        ssk_plan_check(plan, graph, &sim->problem, &flaw) != SSK_OK) {
        sim->failure.flaw = flaw;
        return ssk_fail(sim, SSK_ERR_ARGUMENT);
    }
    sim->graph = *graph;
    sim->plan = *plan;
    sim->last = last != 0;
    sim->roots_placed = sim->n_awaiting = 0;
    ssk_forget_pending(sim);
    sim->is_pooling = number > 0 && sim->problem.pooling.n_tasks > 0;
    for (int32_t group = 0; group < plan->n_groups; group++)
        with_marks = with_marks || plan->group_marks_active[group];
    set_active(sim);
    for (int32_t w = 0; sim->conditions.n_failed > 0 && w < sim->problem.n_workers; w++)
        if (sim->conditions.failed[w])
            ssk_deactivate(sim, w);
    int status = lay_out_pools(sim);
    if (status == SSK_OK)
        status = ssk_runtime_begin(sim);
    if (status == SSK_OK)
        status = lay_out_devices(sim);
    if (status == SSK_OK)
        status = ssk_victims_reset(&sim->victims, &sim->allocator, &sim->plan.order, sim->problem.n_workers);
    if (status == SSK_OK)
        status = ssk_tasks_reset(&sim->tasks, &sim->allocator, &sim->graph, known, with_marks, &sim->failure.flaw);
    for (int64_t i = 0; status == SSK_OK && i < sim->plan.n_held; i++)
        sim->tasks.pending[sim->plan.held[i]]++;
    if (status == SSK_OK)
        status = open_counters(sim, number);
    if (status == SSK_OK)
        status = ssk_balance_begin(sim);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    count_expected(sim, with_marks);
    sim->iteration = number;
    sim->lag = 0.0;
    sim->phase = SSK_PHASE_TASKS;
    ssk_note_progress(sim);
    ssk_event(sim, SSK_ITERATION_START, SSK_NONE, SSK_NONE, graph->n_tasks, 0);
    sim->leaves_barrier = plan->roots != SSK_LAST;
    status = create_roots(sim);
    sim->leaves_barrier = false;
    return status < 0 ? ssk_fail(sim, status) : SSK_OK;
}

void ssk_end_iteration_if_done(ssk_sim_t *sim)
{
    if (sim->tasks.n_left > 0 || sim->moves.n_left > 0 || sim->phase != SSK_PHASE_TASKS)
        return;
    ssk_forget_pending(sim);
    ssk_event(sim, SSK_ITERATION_END, SSK_NONE, SSK_NONE, 0, 0);
    sim->iterations[sim->n_iterations - 1].end_ps = sim->now;
    if (sim->last) {
        sim->phase = SSK_PHASE_IDLE;
        return;
    }
    sim->phase = SSK_PHASE_BARRIER;
    ssk_set_rare(sim, SSK_RARE_BOUNDARY, ssk_add_ps(sim->now, sim->problem.costs.barrier_ps));
}

/* Lets the first parked active workers take moves; one that still pays for its last push takes none. */
static int start_copies(ssk_sim_t *sim)
{
    sim->phase = SSK_PHASE_COPIES;
    sim->n_copying = 0;
    for (int32_t i = 0; i < sim->routes.n_active && sim->n_copying < sim->n_movers; i++) {
        int32_t worker = sim->routes.active_workers[i];
        if (sim->workers[worker].state != SSK_PARKED || !ssk_set_has(sim->routes.active, worker))
            continue;
        ssk_set_parked(sim, worker, false);
        sim->workers[worker].state = SSK_COPYING;
        sim->n_copying++;
    }
    for (int32_t worker = 0; worker < sim->problem.n_workers; worker++) {
        int status = SSK_OK;
        if (sim->workers[worker].state == SSK_COPYING)
            status = ssk_worker_go(sim, worker, SSK_ACT_COPY);
        if (status < 0)
            return status;
    }
    if (sim->n_copying == 0)
        sim->phase = SSK_PHASE_IDLE;
    return SSK_OK;
}

int ssk_sim_begin_migration(ssk_sim_t *sim, int64_t overhead_ps, int32_t n_moves, const int32_t *blocks,
                            const int32_t *nodes, int32_t n_workers)
{
    if (sim->phase != SSK_PHASE_IDLE || sim->has_failed || sim->n_iterations == 0)
        return SSK_ERR_ARGUMENT;
    for (int32_t i = 0; i < n_moves; i++) {
        if (blocks[i] < 0 || blocks[i] >= sim->problem.n_blocks || nodes[i] < 0 || nodes[i] >= sim->problem.n_nodes) {
            ssk_flaw_t flaw = {"moves", i};
            sim->failure.flaw = flaw;
            return ssk_fail(sim, SSK_ERR_ARGUMENT);
        }
    }
    sim->lag = 0.0;
    sim->counters.policy_ps += overhead_ps;
    sim->move_blocks = blocks;
    sim->move_nodes = nodes;
    sim->n_moves = n_moves;
    sim->next_move = 0;
    sim->n_movers = n_moves > 0 ? n_workers : 0;
    if (overhead_ps > 0) {
        ssk_set_rare(sim, SSK_RARE_BOUNDARY, ssk_add_ps(sim->now, overhead_ps));
        sim->phase = SSK_PHASE_OVERHEAD;
        return SSK_OK;
    }
    int status = start_copies(sim);
    return status < 0 ? ssk_fail(sim, status) : SSK_OK;
}

int ssk_reach_boundary(ssk_sim_t *sim)
{
    ssk_set_rare(sim, SSK_RARE_BOUNDARY, SSK_NO_TIMER);
    if (sim->phase == SSK_PHASE_OVERHEAD)
        return start_copies(sim);
    sim->phase = SSK_PHASE_IDLE;
    return SSK_OK;
}

int ssk_check_room(ssk_sim_t *sim, int32_t node, int32_t block)
{
    if (ssk_has_room(sim, node, block))
        return SSK_OK;
    sim->failure.block = block;
    sim->failure.bytes = sim->problem.taken_bytes[block];
    sim->failure.node = node;
    return ssk_fail(sim, SSK_ERR_MIGRATION);
}

int ssk_next_copy(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_problem_t *p = &sim->problem;
    while (sim->next_move < sim->n_moves) {
        int32_t block = sim->move_blocks[sim->next_move], node = sim->move_nodes[sim->next_move];
        int32_t source = sim->home[block];
        sim->next_move++;
        if (source == SSK_NONE || source == node)
            continue;
        int checked = ssk_check_room(sim, node, block);
        if (checked != SSK_OK)
            return checked;
        w->state = SSK_COPYING;
        w->start = sim->now;
        w->move_block = block;
        w->move_node = node;
        ssk_take_memory(sim, node, block);
        ssk_event(sim, SSK_MIGRATE_START, worker, SSK_NONE, block, ((int64_t)source << 32) + node);
        if (p->block_bytes[block] == 0)
            return ssk_copy_ended(sim, worker);
        int32_t flow_class = p->path_copy[source * p->n_nodes + node] * p->n_mates;
        int status = ssk_flows_reserve(&sim->flows, &sim->allocator, flow_class,
                                       sim->flows.classes[flow_class].n + 1);
        if (status != SSK_OK)
            return ssk_fail(sim, status);
        ssk_flows_start(&sim->flows, worker, flow_class, (double)p->block_bytes[block], sim->now, sim->lag);
        return SSK_WAIT;
    }
    ssk_set_parked(sim, worker, true);
    sim->n_copying--;
    return SSK_WAIT;
}

int ssk_copy_ended(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t size = sim->problem.block_bytes[w->move_block];
    int32_t source = sim->home[w->move_block];
    sim->path_bytes[sim->problem.path_copy[source * sim->problem.n_nodes + w->move_node]] += size;
    ssk_give_memory_back(sim, source, w->move_block);
    sim->home[w->move_block] = w->move_node;
    ssk_event(sim, SSK_MIGRATE_END, worker, SSK_NONE, w->move_block, w->move_node);
    sim->counters.migrations++;
    sim->counters.migrated_bytes += size;
    w->counters.migrate_ps += sim->now - w->start;
    return SSK_ACT_COPY;
}

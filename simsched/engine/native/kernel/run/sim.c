/*
 * Making, checking and reading a simulation.
 */
#include "run/sim.h"

#include "memory/homes.h"
#include "run/run.h"

static int alloc_cores(ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    sim->core_busy = ssk_new(&sim->allocator, (size_t)p->n_cores, sizeof(*sim->core_busy));
    sim->module_busy = ssk_new(&sim->allocator, (size_t)p->n_modules, sizeof(*sim->module_busy));
    sim->module_ptr = ssk_new(&sim->allocator, (size_t)p->n_modules + 2, sizeof(*sim->module_ptr));
    sim->module_worker = ssk_new(&sim->allocator, (size_t)p->n_workers, sizeof(*sim->module_worker));
    if (!sim->core_busy || !sim->module_busy || !sim->module_ptr || !sim->module_worker)
        return SSK_ERR_MEMORY;
    /* Counted two places ahead, so that filling leaves module_ptr[m] at the start of module m. */
    for (int32_t w = 0; w < p->n_workers; w++)
        sim->module_ptr[p->worker_module[w] + 2]++;
    for (int32_t m = 0; m < p->n_modules; m++)
        sim->module_ptr[m + 2] += sim->module_ptr[m + 1];
    for (int32_t w = 0; w < p->n_workers; w++)
        sim->module_worker[sim->module_ptr[p->worker_module[w] + 1]++] = w;
    return SSK_OK;
}

static int alloc_workers(ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    size_t n_words = (size_t)sim->routes.n_words;
    sim->workers = ssk_new(&sim->allocator, (size_t)p->n_workers, sizeof(*sim->workers));
    sim->pace = ssk_new(&sim->allocator, (size_t)p->n_workers, sizeof(*sim->pace));
    sim->parked = ssk_new(&sim->allocator, n_words, sizeof(*sim->parked));
    sim->inactive = ssk_new(&sim->allocator, n_words, sizeof(*sim->inactive));
    sim->candidates = ssk_new(&sim->allocator, 3 * n_words, sizeof(*sim->candidates));
    sim->marked_tasks = ssk_new(&sim->allocator, (size_t)p->n_domains, sizeof(*sim->marked_tasks));
    sim->expected = ssk_new(&sim->allocator, (size_t)p->n_domains, sizeof(*sim->expected));
    sim->probes = ssk_new(&sim->allocator, (size_t)p->n_distances, sizeof(*sim->probes));
    sim->steals = ssk_new(&sim->allocator, (size_t)p->n_distances, sizeof(*sim->steals));
    sim->failed_probes = ssk_new(&sim->allocator, (size_t)p->n_distances, sizeof(*sim->failed_probes));
    if (!sim->workers || !sim->pace || !sim->parked || !sim->inactive || !sim->candidates || !sim->marked_tasks ||
        !sim->expected || !sim->probes || !sim->steals || !sim->failed_probes)
        return SSK_ERR_MEMORY;
    for (int32_t w = 0; w < p->n_workers; w++) {
        sim->workers[w].task = SSK_NONE;
        sim->workers[w].party = 1;
        sim->pace[w] = 1.0;
        ssk_set_add(sim->parked, w);
    }
    return SSK_OK;
}

static int alloc_memory(ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    sim->home = ssk_new(&sim->allocator, (size_t)p->n_blocks, sizeof(*sim->home));
    sim->node_used = ssk_new(&sim->allocator, (size_t)p->n_nodes, sizeof(*sim->node_used));
    sim->node_peak = ssk_new(&sim->allocator, (size_t)p->n_nodes, sizeof(*sim->node_peak));
    sim->path_bytes = ssk_new(&sim->allocator, (size_t)p->n_paths, sizeof(*sim->path_bytes));
    if (!sim->home || !sim->node_used || !sim->node_peak || !sim->path_bytes ||
        ssk_replicas_alloc(&sim->replicas, &sim->allocator, p) != SSK_OK)
        return SSK_ERR_MEMORY;
    for (int32_t block = 0; block < p->n_blocks; block++) {
        sim->home[block] = p->home[block];
        if (p->home[block] >= 0)
            ssk_take_memory(sim, p->home[block], block);
        for (int64_t i = (int64_t)block * p->n_replicas; i < ((int64_t)block + 1) * p->n_replicas; i++)
            if (p->replica[i] >= 0)
                ssk_take_memory(sim, p->replica[i], block);
    }
    return p->pooling.n_tasks > 0 ? ssk_blockpools_alloc(&sim->blockpools, &sim->allocator, p->n_nodes, p->n_blocks) : SSK_OK;
}

static int alloc_parts(ssk_sim_t *sim)
{
    const ssk_allocator_t *allocator = &sim->allocator;
    const ssk_problem_t *p = &sim->problem;
    int status = ssk_seats_alloc(&sim->seats, allocator, &sim->problem);
    if (status == SSK_OK)
        status = ssk_timers_alloc(&sim->timers, allocator, ssk_n_entities(p));
    if (status == SSK_OK)
        status = ssk_flows_alloc(&sim->flows, allocator, p);
    if (status == SSK_OK)
        status = ssk_caches_alloc(&sim->caches, allocator, p);
    if (status == SSK_OK)
        status = ssk_sidecache_alloc(&sim->sidecache, allocator, p);
    if (status == SSK_OK)
        status = ssk_copies_alloc(&sim->copies, allocator, p);
    if (status == SSK_OK)
        status = ssk_drivers_alloc(&sim->drivers, allocator, p);
    if (status == SSK_OK)
        status = ssk_routes_alloc(&sim->routes, allocator, p);
    if (status == SSK_OK)
        status = ssk_victims_alloc(&sim->victims, allocator, p);
    if (status == SSK_OK)
        status = alloc_cores(sim);
    if (status == SSK_OK)
        status = alloc_workers(sim);
    if (status == SSK_OK)
        status = ssk_moves_alloc(&sim->moves, allocator, p->n_workers);
    if (status == SSK_OK)
        status = alloc_memory(sim);
    if (status == SSK_OK)
        status = ssk_conditions_alloc(&sim->conditions, allocator, p);
    return status;
}

int ssk_sim_alloc(ssk_sim_t **sim_ret, const ssk_problem_t *problem, const ssk_hooks_t *hooks,
                  const ssk_allocator_t *allocator, ssk_flaw_t *flaw_ret)
{
    *sim_ret = NULL;
    int checked = ssk_problem_check(problem, flaw_ret);
    if (checked != SSK_OK)
        return checked;
    ssk_sim_t *sim = ssk_new(allocator, 1, sizeof(*sim));
    if (sim == NULL)
        return SSK_ERR_MEMORY;
    sim->allocator = *allocator;
    sim->problem = *problem;
    if (problem->taken_bytes == NULL)
        sim->problem.taken_bytes = problem->block_bytes;
    if (hooks != NULL)
        sim->hooks = sim->policy_hooks = *hooks;
    sim->last_worker = SSK_NONE;
    sim->ending = SSK_NONE;
    for (int which = 0; which < SSK_N_RARE; which++)
        ssk_set_rare(sim, which, SSK_NO_TIMER);
    if (problem->timer_period_ps > 0)
        ssk_set_rare(sim, SSK_RARE_POLICY, problem->timer_period_ps);
    ssk_schedule_change(sim);
    ssk_tasks_init(&sim->tasks);
    ssk_pools_init(&sim->pools);
    ssk_flights_init(&sim->flights);
    ssk_wakes_init(&sim->wakes);
    ssk_devices_init(&sim->devices);
    ssk_trace_init(&sim->trace, &problem->recorder);
    int status = alloc_parts(sim);
    if (status != SSK_OK) {
        ssk_sim_free(sim);
        return status;
    }
    *sim_ret = sim;
    return SSK_OK;
}

void ssk_sim_free(ssk_sim_t *sim)
{
    if (sim == NULL)
        return;
    ssk_allocator_t allocator = sim->allocator;
    ssk_seats_free(&sim->seats, &allocator);
    ssk_timers_free(&sim->timers, &allocator);
    ssk_flows_free(&sim->flows, &allocator);
    ssk_caches_free(&sim->caches);
    ssk_sidecache_free(&sim->sidecache, &allocator);
    ssk_blockpools_free(&sim->blockpools, &allocator);
    ssk_copies_free(&sim->copies, &allocator);
    ssk_drivers_free(&sim->drivers, &allocator);
    ssk_replicas_free(&sim->replicas, &allocator);
    ssk_conditions_free(&sim->conditions, &allocator);
    ssk_routes_free(&sim->routes, &allocator);
    ssk_victims_free(&sim->victims, &allocator);
    ssk_tasks_free(&sim->tasks, &allocator);
    ssk_pools_free(&sim->pools, &allocator);
    ssk_flights_free(&sim->flights, &allocator);
    ssk_wakes_free(&sim->wakes, &allocator);
    ssk_moves_free(&sim->moves, &allocator);
    ssk_runtime_free(sim);
    ssk_devices_free(&sim->devices, &allocator);
    void *const blocks[] = {
        sim->workers,  sim->core_busy,  sim->module_ptr,  sim->module_worker, sim->module_busy, sim->home,         sim->node_used,
        sim->parked,   sim->inactive,   sim->candidates,  sim->marked_tasks, sim->probes,      sim->arrivals,
        sim->steals,   sim->iterations, sim->node_bytes,  sim->group_bytes, sim->samples,      sim->last_period,
        sim->failed_probes, sim->cache_counts, sim->group_missing, sim->node_peak, sim->marks,
        sim->executed_ps, sim->pace, sim->grouped, sim->node_faults, sim->expected, sim->node_hit_bytes,
        sim->path_bytes,
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        ssk_delete(&allocator, blocks[i]);
    ssk_delete(&allocator, sim);
}

/* Tells whether each place, a core or a module, has as many busy workers as are counted. */
static bool busy_counts_hold(const ssk_sim_t *sim, const int32_t *place_of, const int32_t *counted, int32_t n_places)
{
    for (int32_t place = 0; place < n_places; place++) {
        int32_t n_busy = 0;
        for (int32_t w = 0; w < sim->problem.n_workers; w++)
            n_busy += place_of[w] == place && sim->workers[w].busy;
        if (n_busy != counted[place])
            return false;
    }
    return true;
}

/* Checks busy counts, parked workers and timers. */
static bool workers_are_sound(const ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t n_parked = 0;
    if (!busy_counts_hold(sim, p->worker_core, sim->core_busy, p->n_cores) ||
        !busy_counts_hold(sim, p->worker_module, sim->module_busy, p->n_modules))
        return false;
    for (int32_t w = 0; w < p->n_workers; w++) {
        const ssk_worker_t *worker = &sim->workers[w];
        bool is_parked = ssk_set_has(sim->parked, w), has_timer = ssk_timers_has(&sim->timers, w);
        bool has_flow = sim->flows.class_of[w] != SSK_NONE;
        n_parked += is_parked && ssk_set_has(sim->routes.active, w);
        bool is_called = worker->state == SSK_GATHERING || worker->state == SSK_AWAITING; /* by something that happens */
        bool must_wait = !is_parked && (!is_called || has_timer);
        if (is_parked != (worker->state == SSK_PARKED) || has_timer + has_flow != must_wait)
            return false;
        bool may_flow = worker->state == SSK_EXECUTING || worker->state == SSK_MOVING;
        if (may_flow && (!worker->busy || worker->flowing != has_flow))
            return false;
        if (worker->state == SSK_COPYING && !has_flow)
            return false;
    }
    return n_parked == sim->n_parked;
}

/* Checks the bytes on each node; blocks that are being copied count twice, memory that waits in pools counts too. */
static bool memory_is_sound(const ssk_sim_t *sim)
{
    const ssk_problem_t *p = &sim->problem;
    int64_t total = 0;
    for (int32_t node = 0; node < p->n_nodes; node++) {
        int64_t used = ssk_blockpools_bytes_on(&sim->blockpools, node);
        for (int32_t block = 0; block < p->n_blocks; block++)
            used += ssk_sim_holds(sim, node, block) ? p->taken_bytes[block] : 0;
        for (int32_t lane = 0; lane < sim->copies.n_spaces * sim->copies.n_spaces; lane++)
            if (sim->copies.lane[lane].block != SSK_NONE && sim->copies.lane[lane].target_node == node)
                used += p->taken_bytes[sim->copies.lane[lane].block];
        for (size_t i = 0; i < sim->copies.n_waiting; i++)
            if (sim->copies.handed[i].target_node == node)
                used += p->taken_bytes[sim->copies.handed[i].block];
        for (int32_t w = 0; w < p->n_workers; w++) {
            const ssk_worker_t *worker = &sim->workers[w];
            if (worker->state == SSK_COPYING && worker->move_node == node)
                used += p->taken_bytes[worker->move_block];
            if (worker->state == SSK_MOVING && sim->moves.entries[sim->moves.first[w]].node == node)
                used += p->taken_bytes[sim->moves.entries[sim->moves.first[w]].block];
        }
        if (used != sim->node_used[node] || used > p->node_capacity_bytes[node] || used > sim->node_peak[node])
            return false;
        total += used;
    }
    return total == sim->used && total <= sim->counters.peak_bytes;
}

int ssk_sim_verify(const ssk_sim_t *sim)
{
    int status = ssk_timers_verify(&sim->timers);
    if (status == SSK_OK)
        status = ssk_flows_verify(&sim->flows);
    if (status == SSK_OK)
        status = ssk_caches_verify(&sim->caches);
    if (status == SSK_OK)
        status = ssk_sidecache_verify(&sim->sidecache);
    if (status == SSK_OK)
        status = ssk_blockpools_verify(&sim->blockpools);
    if (status == SSK_OK)
        status = ssk_copies_verify(&sim->copies, &sim->problem, sim->drivers.preparing, sim->home);
    if (status == SSK_OK)
        status = ssk_routes_verify(&sim->routes);
    if (status == SSK_OK)
        status = ssk_victims_verify(&sim->victims, &sim->plan.order, sim->problem.n_workers);
    if (status == SSK_OK)
        status = ssk_tasks_verify(&sim->tasks);
    if (status == SSK_OK)
        status = ssk_pools_verify(&sim->pools);
    if (status == SSK_OK)
        status = ssk_flights_verify(&sim->flights);
    if (status == SSK_OK)
        status = ssk_wakes_verify(&sim->wakes);
    if (status == SSK_OK)
        status = ssk_moves_verify(&sim->moves, sim->problem.n_workers);
    if (status == SSK_OK)
        status = ssk_runtime_verify(&sim->runtime);
    if (status == SSK_OK)
        status = ssk_devices_verify(&sim->devices, &sim->plan, &sim->graph);
    if (status == SSK_OK)
        status = ssk_trace_verify(&sim->trace);
    if (status == SSK_OK && !(workers_are_sound(sim) && memory_is_sound(sim)))
        status = SSK_ERR_INVARIANT;
    return status;
}

/*
 * Reading a simulation: live state for hooks, results, explanation of a stall.
 */
#include "flows/sharing.h"
#include "run/sim.h"

ssk_failure_t ssk_sim_failure(const ssk_sim_t *sim)
{
    return sim->failure;
}

int64_t ssk_sim_now(const ssk_sim_t *sim)
{
    return sim->now;
}

int32_t ssk_sim_n_groups(const ssk_sim_t *sim)
{
    return sim->pools.n_groups;
}

int32_t ssk_sim_n_instances(const ssk_sim_t *sim, int32_t group)
{
    return group < 0 || group >= sim->pools.n_groups ? 0 : ssk_pools_n_instances(&sim->pools, group);
}

int64_t ssk_sim_queue_length(const ssk_sim_t *sim, int32_t group, int32_t instance)
{
    if (instance < 0 || instance >= ssk_sim_n_instances(sim, group))
        return 0;
    return ssk_pools_at(&sim->pools, group, instance)->count;
}

double ssk_sim_load(const ssk_sim_t *sim, int32_t resource)
{
    return resource >= 0 && resource < sim->problem.n_resources ? ssk_load(&sim->flows, resource) : 0.0;
}

int32_t ssk_sim_running_task(const ssk_sim_t *sim, int32_t worker)
{
    if (worker < 0 || worker >= sim->problem.n_workers || sim->workers[worker].state != SSK_EXECUTING)
        return SSK_NONE;
    return sim->workers[worker].task;
}

int ssk_sim_is_waiting(const ssk_sim_t *sim, int32_t worker)
{
    return worker >= 0 && worker < sim->problem.n_workers && ssk_set_has(sim->parked, worker) &&
           ssk_set_has(sim->routes.active, worker);
}

int32_t ssk_sim_block_home(const ssk_sim_t *sim, int32_t block)
{
    return block >= 0 && block < sim->problem.n_blocks ? sim->home[block] : SSK_NONE;
}

int ssk_sim_holds(const ssk_sim_t *sim, int32_t node, int32_t block)
{
    if (block < 0 || block >= sim->problem.n_blocks || node < 0 || node >= sim->problem.n_nodes)
        return 0;
    if (sim->problem.copies_data)
        return ssk_is_valid(&sim->copies, block, sim->problem.node_space[node]) &&
               sim->copies.node_at[ssk_place(&sim->copies, block, sim->problem.node_space[node])] == node;
    return sim->home[block] == node || ssk_replicas_has(&sim->replicas, block, node);
}

int ssk_sim_expects(const ssk_sim_t *sim, int32_t node, int32_t block)
{
    if (ssk_sim_holds(sim, node, block))
        return 1;
    if (!sim->problem.copies_data || block < 0 || block >= sim->problem.n_blocks || node < 0 || node >= sim->problem.n_nodes)
        return 0;
    return ssk_is_coming(&sim->copies, ssk_place(&sim->copies, block, sim->problem.node_space[node]));
}

int ssk_sim_has_place(const ssk_sim_t *sim, int32_t node, int32_t block)
{
    if (ssk_sim_holds(sim, node, block))
        return 1;
    if (!sim->problem.copies_data || block < 0 || block >= sim->problem.n_blocks || node < 0 || node >= sim->problem.n_nodes)
        return 0;
    int64_t place = ssk_place(&sim->copies, block, sim->problem.node_space[node]);
    return sim->copies.n_coming[place] > 0 || sim->drivers.has_place[place];
}

int64_t ssk_sim_driver_until_ps(const ssk_sim_t *sim, int32_t node)
{
    if (!sim->problem.copies_data || node < 0 || node >= sim->problem.n_nodes)
        return 0;
    int32_t space = sim->problem.node_space[node];
    if (!ssk_driver_is_busy(&sim->drivers, space))
        return 0;
    return ssk_timers_time(&sim->timers, sim->problem.n_workers + space * sim->problem.n_spaces + space);
}

int64_t ssk_sim_executed_ps(const ssk_sim_t *sim, int32_t task)
{
    return sim->plan.times_tasks && task >= 0 && task < sim->graph.n_tasks ? sim->executed_ps[task] : 0;
}

ssk_summary_t ssk_sim_summary(const ssk_sim_t *sim)
{
    ssk_summary_t summary = {
        .n_iterations = sim->n_iterations,
        .iterations = sim->iterations,
        .node_bytes = sim->node_bytes,
        .node_hit_bytes = sim->node_hit_bytes,
        .path_bytes = sim->path_bytes,
        .cache_counts = sim->cache_counts,
        .steals = sim->steals,
        .failed_probes = sim->failed_probes,
        .node_peak_bytes = sim->node_peak,
        .managed_bytes = {sim->managed_bytes[0], sim->managed_bytes[1]},
        .counters = sim->counters,
    };
    summary.counters.n_events = ssk_trace_n_events(&sim->trace);
    return summary;
}

ssk_worker_counters_t ssk_sim_worker_counters(const ssk_sim_t *sim, int32_t worker)
{
    return sim->workers[worker].counters;
}

ssk_measured_t ssk_sim_measured(const ssk_sim_t *sim)
{
    ssk_iteration_t none = {SSK_NONE, 0, 0};
    ssk_iteration_t iteration = sim->n_iterations > 0 ? sim->iterations[sim->n_iterations - 1] : none;
    ssk_measured_t measured = {
        .n_tasks = sim->tasks.n,
        .n_counter_groups = sim->plan.n_counter_groups,
        .n_samples = sim->plan.n_samples,
        .start_ps = iteration.start_ps,
        .end_ps = iteration.end_ps,
        .group_bytes = sim->group_bytes,
        .group_missing_bytes = sim->group_missing,
        .samples = sim->samples,
        .block_home = sim->home,
        .node_used_bytes = sim->node_used,
        .executed_by = sim->tasks.executed_by,
        .executed_ps = sim->plan.times_tasks ? sim->executed_ps : NULL,
    };
    return measured;
}

int64_t ssk_sim_events_handled(const ssk_sim_t *sim)
{
    return sim->events_handled;
}

void ssk_sim_waiting(const ssk_sim_t *sim, const ssk_waiting_t *waiting)
{
    const ssk_tasks_t *tasks = &sim->tasks;
    for (int32_t t = 0; t < tasks->n; t++) {
        waiting->pending[t] = tasks->pending[t];
        waiting->outstanding[t] = tasks->outstanding[t];
        waiting->started[t] = tasks->phase[t] == SSK_TASK_ENDED ? 2 : tasks->phase[t] != SSK_TASK_NEW;
        waiting->pool_group[t] = waiting->pool_instance[t] = SSK_NONE;
    }
    for (int32_t group = 0; group < sim->pools.n_groups; group++) {
        for (int32_t i = 0; i < ssk_pools_n_instances(&sim->pools, group); i++) {
            const ssk_pool_t *pool = ssk_pools_at(&sim->pools, group, i);
            for (uint32_t k = 0; k < pool->count; k++) {
                int32_t task = pool->ring[(pool->head + k) & (pool->capacity - 1)];
                waiting->pool_group[task] = group;
                waiting->pool_instance[task] = i;
            }
        }
    }
}

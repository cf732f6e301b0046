/*
 * Checks of arguments: afterwards no index is out of range, no sum of times or bytes overflows and no rate is 0.
 *
 * What a run means is not judged here: a graph may still deadlock, which ends as a stall.
 */
#include <math.h>

#include "base.h"
#include "blockpools.h"
#include "devices.h"

#define MAX_BYTES ((int64_t)1 << 52)
#define MAX_CLASSES (1 << 28)

static int flawed(ssk_flaw_t *flaw, const char *name, int64_t index)
{
    const char *arrow = strchr(name, '>'); /* names come from expressions like p->worker_core */
    flaw->name = arrow == NULL ? name : arrow + 1;
    flaw->index = index;
    return SSK_ERR_ARGUMENT;
}

/* Leaves the calling function when an entry of an array lies outside [low, high]. */
#define CHECK_RANGE(array, count, low, high)                                             \
    do {                                                                                 \
        for (int64_t i_ = 0; i_ < (int64_t)(count); i_++)                                \
            if (!((array)[i_] >= (low) && (array)[i_] <= (high)))                        \
                return flawed(flaw, #array, i_);                                         \
    } while (0)

/* Leaves the calling function unless `ptr` ascends from 0 to `end` in `count` steps. */
#define CHECK_PTR(ptr, count, end)                                                       \
    do {                                                                                 \
        if ((ptr)[0] != 0)                                                               \
            return flawed(flaw, #ptr, 0);                                                \
        if ((ptr)[count] != (end))                                                       \
            return flawed(flaw, #ptr, (count));                                          \
        for (int64_t i_ = 0; i_ < (int64_t)(count); i_++)                                \
            if ((ptr)[i_] > (ptr)[i_ + 1])                                               \
                return flawed(flaw, #ptr, i_);                                           \
    } while (0)

static int check_workers(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    if (p->n_workers < 1 || p->n_cores < 1 || p->n_smt < 1 || p->n_domains < 1 || p->n_sockets < 1 ||
        p->n_classes < 1)
        return flawed(flaw, "n_workers", SSK_NONE);
    CHECK_RANGE(p->worker_core, p->n_workers, 0, p->n_cores - 1);
    CHECK_RANGE(p->worker_domain, p->n_workers, 0, p->n_domains - 1);
    CHECK_RANGE(p->worker_kind, p->n_workers, 0, INT32_MAX);
    CHECK_RANGE(p->worker_rate, (int64_t)p->n_workers * p->n_smt, 1e-300, 1e300);
    CHECK_RANGE(p->domain_socket, p->n_domains, 0, p->n_sockets - 1);
    CHECK_RANGE(p->domain_hops, (int64_t)p->n_domains * p->n_domains, 0, p->n_distances - 2);
    for (int32_t socket = 0; socket < p->n_sockets; socket++) {
        bool has_domain = false;
        for (int32_t d = 0; d < p->n_domains; d++)
            has_domain = has_domain || p->domain_socket[d] == socket;
        if (!has_domain)
            return flawed(flaw, "domain_socket", socket);
    }
    /* Quadratic only in the workers of one core. */
    for (int32_t w = 0; w < p->n_workers; w++) {
        int32_t before = 0;
        for (int32_t other = w - 1; other >= 0 && before < p->n_smt; other--)
            before += p->worker_core[other] == p->worker_core[w];
        if (before >= p->n_smt)
            return flawed(flaw, "worker_core", w);
    }
    return SSK_OK;
}

/* Tells whether something keeps the rate of a class finite. */
static bool has_finite_bound(const ssk_problem_t *p, int32_t path, int32_t k)
{
    bool is_finite = isfinite(p->path_cap[path * p->n_smt + k]);
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
        int32_t x = p->path_resource[i];
        is_finite = is_finite || isfinite(p->resource_capacity[x]) || p->curve_ptr[x] < p->curve_ptr[x + 1];
    }
    return is_finite;
}

static int check_paths(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    if (p->n_paths < 1 || p->n_resources < 1 || p->n_nodes < 1 || p->n_paths > MAX_CLASSES / p->n_smt)
        return flawed(flaw, "n_paths", SSK_NONE);
    CHECK_RANGE(p->path_latency_ps, p->n_paths, 0, SSK_MAX_COST_PS);
    CHECK_RANGE(p->path_share, p->n_paths, 1e-300, 1.0);
    CHECK_RANGE(p->path_cap, (int64_t)p->n_paths * p->n_smt, 1e-300, INFINITY);
    CHECK_PTR(p->path_resource_ptr, p->n_paths, p->n_crossings);
    for (int32_t path = 0; path < p->n_paths; path++) {
        int32_t first = p->path_resource_ptr[path], end = p->path_resource_ptr[path + 1];
        if (first == end)
            return flawed(flaw, "path_resource_ptr", path);
        for (int32_t i = first + 1; i < end; i++)
            if (p->path_resource[i] <= p->path_resource[i - 1])
                return flawed(flaw, "path_resource", i);
    }
    CHECK_RANGE(p->path_resource, p->n_crossings, 0, p->n_resources - 1);
    CHECK_RANGE(p->path_weight, p->n_crossings, 1e-300, 1e300);
    CHECK_RANGE(p->resource_capacity, p->n_resources, 1e-300, INFINITY);
    CHECK_PTR(p->curve_ptr, p->n_resources, p->n_curve);
    CHECK_RANGE(p->curve, p->n_curve, 1e-300, 1e300);
    for (int32_t path = 0; path < p->n_paths; path++)
        for (int32_t k = 0; k < p->n_smt; k++)
            if (!has_finite_bound(p, path, k))
                return flawed(flaw, "path_cap", (int64_t)path * p->n_smt + k);
    CHECK_RANGE(p->path_access, (int64_t)p->n_domains * p->n_nodes, 0, p->n_paths - 1);
    CHECK_RANGE(p->path_hit, (int64_t)p->n_domains * p->n_nodes, SSK_NONE, p->n_paths - 1);
    CHECK_RANGE(p->path_write, (int64_t)p->n_domains * p->n_nodes, 0, p->n_paths - 1);
    CHECK_RANGE(p->path_copy, (int64_t)p->n_nodes * p->n_nodes, 0, p->n_paths - 1);
    CHECK_RANGE(p->node_slots, p->n_nodes, 0, INT64_MAX / 16);
    for (int64_t i = 0; i < (int64_t)p->n_domains * p->n_nodes; i++)
        if (p->node_slots[i % p->n_nodes] > 0 && p->path_hit[i] < 0)
            return flawed(flaw, "path_hit", i);
    return SSK_OK;
}

static int check_memory(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    if (p->n_blocks < 0 || p->n_levels < 0 || p->n_allowed < 0 || p->n_node_kinds < 1)
        return flawed(flaw, "n_blocks", SSK_NONE);
    CHECK_RANGE(p->node_capacity_bytes, p->n_nodes, 0, INT64_MAX / 4);
    CHECK_RANGE(p->node_domain, p->n_nodes, SSK_NONE, p->n_domains - 1);
    CHECK_RANGE(p->node_kind, p->n_nodes, 0, p->n_node_kinds - 1);
    CHECK_RANGE(p->block_bytes, p->n_blocks, 0, MAX_BYTES);
    CHECK_RANGE(p->home, p->n_blocks, SSK_NONE, p->n_nodes - 1);
    if (p->n_changes < 0)
        return flawed(flaw, "n_changes", SSK_NONE);
    CHECK_RANGE(p->change_ps, p->n_changes, 0, SSK_NEVER - 1);
    CHECK_RANGE(p->change_core, (int64_t)p->n_changes * p->n_cores, 0, 1);
    CHECK_RANGE(p->change_speed, p->n_changes, 0.0, 1.0);
    for (int32_t i = 1; i < p->n_changes; i++)
        if (p->change_ps[i] < p->change_ps[i - 1])
            return flawed(flaw, "change_ps", i);
    if (p->n_replicas < 0 || (p->n_replicas > 0 && p->copies_data))
        return flawed(flaw, "n_replicas", SSK_NONE);
    if (p->n_replicas > 0) {
        CHECK_RANGE(p->replica, (int64_t)p->n_blocks * p->n_replicas, SSK_NONE, p->n_nodes - 1);
        CHECK_RANGE(p->node_rank, (int64_t)p->n_domains * p->n_nodes, 0, p->n_nodes - 1);
    }
    for (int64_t i = 0; i < (int64_t)p->n_blocks * p->n_replicas; i++)
        if (p->replica[i] >= 0 && (p->home[i / p->n_replicas] < 0 || p->home[i / p->n_replicas] == p->replica[i]))
            return flawed(flaw, "replica", i);
    if (p->copies_data)
        CHECK_RANGE(p->worker_node, p->n_workers, 0, p->n_nodes - 1);
    CHECK_RANGE(p->touch_order, (int64_t)p->n_domains * p->n_allowed, 0, p->n_nodes - 1);
    CHECK_RANGE(p->cache_slices, p->n_levels, 1, SSK_MAX_SLICES);
    CHECK_RANGE(p->n_cache_instances, p->n_levels, 1, INT32_MAX / SSK_MAX_SLICES / (p->n_levels + 1));
    int32_t n_caches = 0, n_slices = 0;
    for (int32_t level = 0; level < p->n_levels; level++) {
        n_caches += p->n_cache_instances[level];
        n_slices += p->n_cache_instances[level] * p->cache_slices[level];
    }
    CHECK_RANGE(&p->n_caches, 1, n_caches, n_caches);
    CHECK_RANGE(&p->n_cache_slices, 1, n_slices, n_slices);
    CHECK_RANGE(p->cache_slice_bytes, p->n_cache_slices, 0, INT64_MAX / 4);
    CHECK_RANGE(p->cache_latency_ps, p->n_caches, 0, SSK_MAX_COST_PS);
    CHECK_RANGE(p->cache_rate, p->n_caches, 1e-300, INFINITY);
    CHECK_RANGE(p->cache_wait, p->n_levels, 0.0, 1.0);
    for (int32_t level = 0; p->cache_is_victim != NULL && level < p->n_levels; level++)
        if (p->cache_is_victim[level] > (level > 0 && level != p->transfer_level))
            return flawed(flaw, "cache_is_victim", level);
    CHECK_RANGE(&p->transfer_level, 1, SSK_NONE, p->n_levels - 1);
    CHECK_RANGE(&p->transfer_latency_ps, 1, 0, SSK_MAX_COST_PS);
    CHECK_RANGE(&p->transfer_rate, 1, p->transfer_level == SSK_NONE ? 0.0 : 1e-300, INFINITY);
    CHECK_RANGE(&p->displacement_rate, 1, 0.0, p->transfer_level == SSK_NONE ? 0.0 : INFINITY);
    CHECK_RANGE(&p->upgrade_rate, 1, 0.0, p->transfer_level == SSK_NONE ? 0.0 : INFINITY);
    for (int32_t level = 0; level < p->n_levels; level++) {
        const int32_t *cache_instance = p->cache_instance + (size_t)level * (size_t)p->n_workers;
        CHECK_RANGE(cache_instance, p->n_workers, 0, p->n_cache_instances[level] - 1);
    }
    CHECK_PTR(p->granule_ptr, p->n_blocks, p->n_granules);
    CHECK_RANGE(p->granule_frame, p->n_granules, 0, INT64_MAX);
    int64_t free_bytes = INT64_MAX / 2;
    for (int32_t block = 0; block < p->n_blocks; block++) {
        if (p->block_bytes[block] > free_bytes)
            return flawed(flaw, "block_bytes", block);
        free_bytes -= p->block_bytes[block];
        if (p->block_bytes[block] == 0 && p->granule_ptr[block] < p->granule_ptr[block + 1])
            return flawed(flaw, "granule_ptr", block);
    }
    return SSK_OK;
}

static int check_pooling(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    const ssk_pooling_t *pools = &p->pooling;
    if (p->taken_bytes != NULL)
        CHECK_RANGE(p->taken_bytes, p->n_blocks, p->block_bytes[i_], MAX_BYTES);
    if (pools->n_tasks == 0)
        return SSK_OK;
    if (pools->n_tasks < 0 || p->n_allowed < 1 || p->taken_bytes == NULL)
        return flawed(flaw, "pooling", SSK_NONE);
    CHECK_RANGE(pools->size_class, p->n_blocks, SSK_NONE, SSK_N_SIZE_CLASSES - 1);
    CHECK_RANGE(pools->allocate_near, p->n_blocks, SSK_NONE, p->n_blocks - 1);
    CHECK_PTR(pools->allocate_ptr, pools->n_tasks, pools->n_allocate);
    CHECK_RANGE(pools->allocate, pools->n_allocate, 0, p->n_blocks - 1);
    CHECK_PTR(pools->release_ptr, pools->n_tasks, pools->n_release);
    CHECK_RANGE(pools->release, pools->n_release, 0, p->n_blocks - 1);
    for (int64_t i = 0; i < pools->n_allocate; i++)
        if (pools->size_class[pools->allocate[i]] < 0)
            return flawed(flaw, "allocate", i);
    for (int64_t i = 0; i < pools->n_release; i++)
        if (pools->size_class[pools->release[i]] < 0)
            return flawed(flaw, "release", i);
    for (int32_t block = 0; block < p->n_blocks; block++)
        if (pools->size_class[block] >= 0 && p->taken_bytes[block] != (int64_t)1 << pools->size_class[block])
            return flawed(flaw, "taken_bytes", block);
    return SSK_OK;
}

static int check_costs(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    const ssk_costs_t *costs = &p->costs;
    const int64_t scalar_costs[] = {
        costs->spawn_child_first_ps, costs->spawn_parent_first_ps, costs->pop_ps,
        costs->push_ps,              costs->lock_hold_ps,          costs->barrier_ps,
        costs->context_switch_ps,    costs->page_fault_ps,         costs->page_move_ps,
        costs->driver_look_ps,       costs->copy_hand_over_ps,     costs->device_allocation_ps,
    };
    CHECK_RANGE(scalar_costs, sizeof(scalar_costs) / sizeof(*scalar_costs), 0, SSK_MAX_COST_PS);
    CHECK_RANGE(&costs->device_chunk_bytes, 1, 0, INT64_MAX / 4);
    if (costs->n_steal_probe < 1 || costs->n_steal < 1)
        return flawed(flaw, "costs", SSK_NONE);
    CHECK_RANGE(costs->steal_probe_ps, costs->n_steal_probe, 0, SSK_MAX_COST_PS);
    CHECK_RANGE(costs->steal_ps, costs->n_steal, 0, SSK_MAX_COST_PS);
    if (p->timer_period_ps < 0 || p->timer_period_ps >= SSK_NEVER)
        return flawed(flaw, "timer_period_ps", SSK_NONE);
    if (p->progress_limit_ps < 1 || p->progress_limit_ps > SSK_NEVER)
        return flawed(flaw, "progress_limit_ps", SSK_NONE);
    return SSK_OK;
}

int ssk_problem_check(const ssk_problem_t *problem, ssk_flaw_t *flaw_ret)
{
    int status = check_workers(problem, flaw_ret);
    if (status == SSK_OK)
        status = check_paths(problem, flaw_ret);
    if (status == SSK_OK)
        status = check_memory(problem, flaw_ret);
    if (status == SSK_OK)
        status = check_pooling(problem, flaw_ret);
    if (status == SSK_OK)
        status = check_costs(problem, flaw_ret);
    return status;
}

static int check_accesses(const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    CHECK_PTR(graph->access_ptr, graph->n_tasks, graph->n_accesses);
    CHECK_RANGE(graph->access_block, graph->n_accesses, 0, problem->n_blocks - 1);
    CHECK_RANGE(graph->read_bytes, graph->n_accesses, 0, MAX_BYTES);
    CHECK_RANGE(graph->written_bytes, graph->n_accesses, 0, MAX_BYTES);
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        int64_t first = graph->access_ptr[task], end = graph->access_ptr[task + 1], total = 0;
        if (graph->join_access[task] < first || graph->join_access[task] > end)
            return flawed(flaw, "join_access", task);
        for (int64_t i = first; i < end; i++) {
            total += graph->read_bytes[i] + graph->written_bytes[i];
            if (total > INT64_MAX / 4)
                return flawed(flaw, "read_bytes", i);
        }
    }
    return SSK_OK;
}

int ssk_graph_check(const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    if (graph->n_tasks < 1 || graph->n_kinds < 1)
        return flawed(flaw, "n_tasks", SSK_NONE);
    CHECK_RANGE(problem->worker_kind, problem->n_workers, 0, graph->n_kinds - 1);
    CHECK_RANGE(graph->ops, (int64_t)graph->n_kinds * graph->n_tasks, 0.0, INFINITY);
    CHECK_RANGE(graph->join_ops, (int64_t)graph->n_kinds * graph->n_tasks, 0.0, INFINITY);
    CHECK_RANGE(graph->creation_ops, graph->n_tasks, 0.0, 1e300);
    CHECK_RANGE(graph->arrival_ps, graph->n_tasks, 0, SSK_NEVER / 2);
    for (int32_t i = 0; i < problem->n_changes; i++)
        if (problem->change_speed[i] == 0.0 && (graph->n_children > 0 || problem->copies_data))
            return flawed(flaw, "change_speed", i);
    if (graph->detached != NULL)
        CHECK_RANGE(graph->detached, graph->n_tasks, 0, 1);
    if (graph->occupancy != NULL)
        CHECK_RANGE(graph->occupancy, graph->n_tasks, 0, INT32_MAX);
    if (graph->exposure != NULL)
        CHECK_RANGE(graph->exposure, graph->n_tasks, 0.0, 1.0);
    if (graph->access_share != NULL)
        CHECK_RANGE(graph->access_share, graph->n_accesses, 0.0, 1.0);
    if (graph->access_after != NULL)
        CHECK_RANGE(graph->access_after, graph->n_accesses, SSK_NONE, graph->n_tasks - 1);
    if (graph->access_final != NULL)
        CHECK_RANGE(graph->access_final, graph->n_accesses, 0, 1);
    if (graph->access_after != NULL && problem->copies_data)
        return flawed(flaw, "access_after", SSK_NONE);
    CHECK_PTR(graph->child_ptr, graph->n_tasks, graph->n_children);
    CHECK_RANGE(graph->child, graph->n_children, 0, graph->n_tasks - 1);
    CHECK_PTR(graph->succ_ptr, graph->n_tasks, graph->n_edges);
    CHECK_RANGE(graph->succ, graph->n_edges, 0, graph->n_tasks - 1);
    if (graph->n_edges > INT32_MAX - 1)
        return flawed(flaw, "succ", SSK_NONE);
    return check_accesses(graph, problem, flaw);
}

/* Checks the candidates that a step lists for a worker. */
static int check_row(const ssk_plan_t *plan, int64_t row, int32_t n_instances, bool by_weight, ssk_flaw_t *flaw)
{
    int64_t first = plan->list_ptr[row], end = plan->list_ptr[row + 1], total = 0;
    if (end - first > n_instances)
        return flawed(flaw, "list_ptr", row);
    for (int64_t i = first; i < end; i++) {
        int32_t value = plan->list_value[i];
        if (plan->list_instance[i] < 0 || plan->list_instance[i] >= n_instances)
            return flawed(flaw, "list_instance", i);
        total += by_weight ? value : 0;
        if (value < by_weight || total > INT32_MAX || (!by_weight && i > first && value < plan->list_value[i - 1]))
            return flawed(flaw, "list_value", i);
    }
    return SSK_OK;
}

/* Number of instances of each scope. */
typedef struct {
    int32_t of_scope[SSK_N_SCOPES];
} ssk_instances_t;

static ssk_instances_t count_instances(const ssk_problem_t *p)
{
    const ssk_instances_t instances = {{p->n_workers, p->n_domains, p->n_sockets, 1, p->n_classes}};
    return instances;
}

/* Checks what the steps say about the choice of victims. */
static int check_victims(const ssk_plan_t *plan, const int32_t *group_scope, const ssk_problem_t *problem,
                         ssk_flaw_t *flaw)
{
    const ssk_instances_t instances = count_instances(problem);
    int32_t n_lists = plan->n_lists, n_workers = problem->n_workers;
    CHECK_RANGE(plan->step_least, plan->n_steps, 1, INT32_MAX);
    CHECK_RANGE(plan->step_attempts, plan->n_steps, 0, INT32_MAX);
    CHECK_RANGE(plan->step_choice, plan->n_steps, SSK_UNIFORM, SSK_WEIGHTED);
    if (n_lists < 0 || plan->n_listed < 0)
        return flawed(flaw, "n_lists", SSK_NONE);
    if (n_lists > 0)
        CHECK_PTR(plan->list_ptr, (int64_t)n_lists * n_workers, plan->n_listed);
    for (int32_t step = 0; step < plan->n_steps; step++) {
        int32_t list = plan->step_list[step], choice = plan->step_choice[step];
        int32_t scope = group_scope[plan->step_group[step]];
        if (scope == SSK_SCOPE_CLASS && plan->step_where[step] != SSK_ANYWHERE)
            return flawed(flaw, "step_where", step);
        if (choice == SSK_UNIFORM ? list != SSK_NONE : list < 0 || list >= n_lists)
            return flawed(flaw, "step_list", step);
        if (plan->step_where[step] == SSK_OWN && (choice != SSK_UNIFORM || plan->step_attempts[step] > 0))
            return flawed(flaw, "step_where", step);
        for (int64_t row = (int64_t)list * n_workers; list >= 0 && row < (int64_t)(list + 1) * n_workers; row++) {
            int status = check_row(plan, row, instances.of_scope[scope], choice == SSK_WEIGHTED, flaw);
            if (status != SSK_OK)
                return status;
        }
    }
    return SSK_OK;
}

int ssk_order_check(const ssk_plan_t *order, const ssk_plan_t *plan, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    if (order->n_steps < 0)
        return flawed(flaw, "n_steps", SSK_NONE);
    CHECK_RANGE(order->step_group, order->n_steps, 0, plan->n_groups - 1);
    CHECK_RANGE(order->step_where, order->n_steps, SSK_OWN, SSK_ANYWHERE);
    CHECK_RANGE(order->step_take, order->n_steps, SSK_NEWEST, SSK_OLDEST);
    CHECK_RANGE(order->step_when, order->n_steps, 0,
                SSK_WHEN_HEAD | SSK_WHEN_INACTIVE | SSK_WHEN_NOT_HEAD | SSK_WHEN_SUPPLIED);
    for (int32_t step = 0; plan->n_devices > 0 && step < order->n_steps; step++)
        if (plan->group_device[order->step_group[step]] != SSK_NONE &&
            (order->step_where[step] != SSK_OWN || order->step_when[step] != 0))
            return flawed(flaw, "step_where", step);
    return check_victims(order, plan->group_scope, problem, flaw);
}

/* Checks devices: who leads to them, and that every task fits on each. */
static int check_devices(const ssk_plan_t *plan, const ssk_graph_t *graph, ssk_flaw_t *flaw)
{
    int32_t least = INT32_MAX;
    if (plan->n_devices < 0)
        return flawed(flaw, "n_devices", SSK_NONE);
    CHECK_RANGE(plan->device_capacity, plan->n_devices, 1, INT32_MAX);
    CHECK_RANGE(plan->group_device, plan->n_groups, SSK_NONE, plan->n_devices - 1);
    for (int32_t device = 0; device < plan->n_devices; device++)
        least = plan->device_capacity[device] < least ? plan->device_capacity[device] : least;
    for (int32_t task = 0; task < graph->n_tasks; task++)
        if (ssk_occupancy(graph, task) > least)
            return flawed(flaw, "occupancy", task);
    for (int32_t group = 0; group < plan->n_groups; group++)
        for (int32_t other = 0; other < group; other++)
            if (plan->group_device[group] != SSK_NONE && plan->group_device[group] == plan->group_device[other] &&
                plan->group_scope[group] != plan->group_scope[other])
                return flawed(flaw, "group_device", group);
    return SSK_OK;
}

int ssk_plan_check(const ssk_plan_t *plan, const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    const ssk_instances_t instances = count_instances(problem);
    bool has_active = false;
    if (plan->n_groups < 1 || plan->n_steps < 0 || plan->n_counter_groups < 0 || plan->n_samples < 0 ||
        plan->roots < SSK_FIRST || plan->roots > SSK_LAST || plan->monitor_period_ps < 0 || plan->balance_period_ps < 0)
        return flawed(flaw, "plan", SSK_NONE);
    if (plan->balance_period_ps > 0 && (plan->balance_page_bytes < 1 || problem->n_allowed < 1))
        return flawed(flaw, "balance_page_bytes", SSK_NONE);
    if (plan->balance_group < SSK_GROUP_NONE || plan->balance_group > SSK_GROUP_FROM_START)
        return flawed(flaw, "balance_group", SSK_NONE);
    CHECK_RANGE(plan->group_scope, plan->n_groups, 0, SSK_N_SCOPES - 1);
    if (plan->group_scope[0] != SSK_SCOPE_WORKER)
        return flawed(flaw, "group_scope", 0);
    CHECK_RANGE(plan->spawn_order, graph->n_tasks, SSK_CHILD_FIRST, SSK_PARENT_FIRST);
    CHECK_RANGE(plan->group_of, graph->n_tasks, 0, plan->n_groups - 1);
    CHECK_RANGE(plan->counter_group, graph->n_tasks, SSK_NONE, plan->n_counter_groups - 1);
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        int32_t instance = plan->instance_of[task], scope = plan->group_scope[plan->group_of[task]];
        if (instance < (scope == SSK_SCOPE_CLASS ? 0 : SSK_NONE) || instance >= instances.of_scope[scope])
            return flawed(flaw, "instance_of", task);
    }
    for (int32_t w = 0; w < problem->n_workers; w++)
        has_active = has_active || plan->active[w];
    int status = plan->n_devices != 0 ? check_devices(plan, graph, flaw) : SSK_OK;
    if (status != SSK_OK)
        return status;
    return has_active ? ssk_order_check(plan, plan, problem, flaw) : flawed(flaw, "active", SSK_NONE);
}

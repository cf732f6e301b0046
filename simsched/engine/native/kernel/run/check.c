/*
 * Checks of arguments: afterwards no index is out of range, no sum of times or bytes overflows and no rate is 0.
 *
 * What a run means is not judged here: a graph may still deadlock, which ends as a stall. Ranges come first (ranges.h);
 * the functions here compare arrays with each other.
 */
#include <math.h>

#include "pools/devices.h"
#include "run/ranges.h"

/* Tells whether a place has more workers than `most`, and which of them is one too many. */
static bool has_crowd(const int32_t *place_of, int32_t n_workers, int32_t most, int32_t *worker_ret)
{
    /* Quadratic only in the workers of one place. */
    for (int32_t w = 0; w < n_workers; w++) {
        int32_t before = 0;
        for (int32_t other = w - 1; other >= 0 && before < most; other--)
            before += place_of[other] == place_of[w];
        *worker_ret = w;
        if (before >= most)
            return true;
    }
    return false;
}

static int check_workers(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    for (int32_t socket = 0; socket < p->n_sockets; socket++) {
        bool has_domain = false;
        for (int32_t d = 0; d < p->n_domains; d++)
            has_domain = has_domain || p->domain_socket[d] == socket;
        if (!has_domain)
            return ssk_flawed(flaw, "domain_socket", socket);
    }
    int32_t w;
    if (has_crowd(p->worker_core, p->n_workers, p->n_smt, &w))
        return ssk_flawed(flaw, "worker_core", w);
    return SSK_OK;
}

/* Tells whether something keeps the rate of a class finite. */
static bool has_finite_bound(const ssk_problem_t *p, int32_t path, int32_t k)
{
    bool is_finite = isfinite(p->path_cap[path * p->n_mates + k]);
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
        int32_t x = p->path_resource[i];
        is_finite = is_finite || isfinite(p->resource_capacity[x]) || p->curve_ptr[x] < p->curve_ptr[x + 1];
    }
    return is_finite;
}

static int check_paths(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    for (int32_t path = 0; path < p->n_paths; path++) {
        int32_t first = p->path_resource_ptr[path], end = p->path_resource_ptr[path + 1];
        if (first == end)
            return ssk_flawed(flaw, "path_resource_ptr", path);
        for (int32_t i = first + 1; i < end; i++)
            if (p->path_resource[i] <= p->path_resource[i - 1])
                return ssk_flawed(flaw, "path_resource", i);
        for (int32_t k = 0; k < p->n_mates; k++)
            if (!has_finite_bound(p, path, k))
                return ssk_flawed(flaw, "path_cap", (int64_t)path * p->n_mates + k);
    }
    for (int64_t i = 0; i < (int64_t)p->n_domains * p->n_nodes; i++)
        if (p->node_slots[i % p->n_nodes] > 0 && p->path_hit[i] < 0)
            return ssk_flawed(flaw, "path_hit", i);
    return SSK_OK;
}

static int check_caches(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    int32_t n_caches = 0, n_slices = 0;
    for (int32_t level = 0; level < p->n_levels; level++) {
        n_caches += p->n_cache_instances[level];
        n_slices += p->n_cache_instances[level] * p->cache_slices[level];
        if (p->cache_is_victim != NULL && p->cache_is_victim[level] > (level > 0 && level != p->transfer_level))
            return ssk_flawed(flaw, "cache_is_victim", level);
        const int32_t *cache_instance = p->cache_instance + (size_t)level * (size_t)p->n_workers;
        CHECK_RANGE(cache_instance, p->n_workers, 0, p->n_cache_instances[level] - 1);
    }
    CHECK_NUMBER(p->n_caches, n_caches, n_caches);
    CHECK_NUMBER(p->n_cache_slices, n_slices, n_slices);
    return SSK_OK;
}

static int check_blocks(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    int64_t free_bytes = INT64_MAX / 2;
    for (int32_t i = 1; i < p->n_changes; i++)
        if (p->change_ps[i] < p->change_ps[i - 1])
            return ssk_flawed(flaw, "change_ps", i);
    if (p->copies_data && (p->n_replicas > 0 || p->n_spaces > 64))
        return ssk_flawed(flaw, p->n_replicas > 0 ? "n_replicas" : "n_spaces", SSK_NONE);
    for (int64_t i = 0; i < (int64_t)p->n_blocks * p->n_replicas; i++)
        if (p->replica[i] >= 0 && (p->home[i / p->n_replicas] < 0 || p->home[i / p->n_replicas] == p->replica[i]))
            return ssk_flawed(flaw, "replica", i);
    for (int32_t block = 0; block < p->n_blocks; block++) {
        if (p->block_bytes[block] > free_bytes)
            return ssk_flawed(flaw, "block_bytes", block);
        free_bytes -= p->block_bytes[block];
        if (p->block_bytes[block] == 0 && p->granule_ptr[block] < p->granule_ptr[block + 1])
            return ssk_flawed(flaw, "granule_ptr", block);
        if (p->taken_bytes != NULL && p->taken_bytes[block] < p->block_bytes[block])
            return ssk_flawed(flaw, "taken_bytes", block);
    }
    return SSK_OK;
}

static int check_pooling(const ssk_problem_t *p, ssk_flaw_t *flaw)
{
    const ssk_pooling_t *pools = &p->pooling;
    if (pools->n_tasks == 0)
        return SSK_OK;
    if (p->n_allowed < 1 || p->taken_bytes == NULL)
        return ssk_flawed(flaw, "pooling", SSK_NONE);
    for (int64_t i = 0; i < pools->n_allocate; i++)
        if (pools->size_class[pools->allocate[i]] < 0)
            return ssk_flawed(flaw, "allocate", i);
    for (int64_t i = 0; i < pools->n_release; i++)
        if (pools->size_class[pools->release[i]] < 0)
            return ssk_flawed(flaw, "release", i);
    for (int32_t block = 0; block < p->n_blocks; block++)
        if (pools->size_class[block] >= 0 && p->taken_bytes[block] != (int64_t)1 << pools->size_class[block])
            return ssk_flawed(flaw, "taken_bytes", block);
    return SSK_OK;
}

int ssk_problem_check(const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    CHECK_PART(ssk_problem_ranges(problem, flaw));
    CHECK_PART(check_workers(problem, flaw));
    CHECK_PART(check_paths(problem, flaw));
    CHECK_PART(check_caches(problem, flaw));
    CHECK_PART(check_blocks(problem, flaw));
    return check_pooling(problem, flaw);
}

static int check_accesses(const ssk_graph_t *graph, ssk_flaw_t *flaw)
{
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        int64_t first = graph->access_ptr[task], end = graph->access_ptr[task + 1], total = 0;
        if (graph->join_access[task] < first || graph->join_access[task] > end)
            return ssk_flawed(flaw, "join_access", task);
        for (int64_t i = first; i < end; i++) {
            total += graph->read_bytes[i] + graph->written_bytes[i];
            if (total > INT64_MAX / 4)
                return ssk_flawed(flaw, "read_bytes", i);
        }
    }
    return SSK_OK;
}

int ssk_graph_check(const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    CHECK_PART(ssk_graph_ranges(graph, problem, flaw));
    CHECK_RANGE(problem->worker_kind, problem->n_workers, 0, graph->n_kinds - 1);
    for (int32_t i = 0; i < problem->n_changes; i++)
        if (problem->change_speed[i] == 0.0 && (graph->n_children > 0 || problem->copies_data))
            return ssk_flawed(flaw, "change_speed", i);
    if (graph->access_after != NULL && problem->copies_data)
        return ssk_flawed(flaw, "access_after", SSK_NONE);
    return check_accesses(graph, flaw);
}

/* Checks the candidates that a step lists for a worker. */
static int check_row(const ssk_order_t *order, int64_t row, int32_t n_instances, bool by_weight, ssk_flaw_t *flaw)
{
    int64_t first = order->list_ptr[row], end = order->list_ptr[row + 1], total = 0;
    if (end - first > n_instances)
        return ssk_flawed(flaw, "list_ptr", row);
    for (int64_t i = first; i < end; i++) {
        int32_t value = order->list_value[i];
        if (order->list_instance[i] < 0 || order->list_instance[i] >= n_instances)
            return ssk_flawed(flaw, "list_instance", i);
        total += by_weight ? value : 0;
        if (value < by_weight || total > INT32_MAX || (!by_weight && i > first && value < order->list_value[i - 1]))
            return ssk_flawed(flaw, "list_value", i);
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
static int check_victims(const ssk_order_t *order, const int32_t *group_scope, const ssk_problem_t *problem,
                         ssk_flaw_t *flaw)
{
    const ssk_instances_t instances = count_instances(problem);
    int32_t n_workers = problem->n_workers;
    for (int32_t step = 0; step < order->n_steps; step++) {
        int32_t list = order->step_list[step], choice = order->step_choice[step];
        int32_t scope = group_scope[order->step_group[step]];
        if (scope == SSK_SCOPE_CLASS && order->step_where[step] != SSK_ANYWHERE)
            return ssk_flawed(flaw, "step_where", step);
        if ((choice == SSK_UNIFORM) != (list == SSK_NONE))
            return ssk_flawed(flaw, "step_list", step);
        if (order->step_where[step] == SSK_OWN && (choice != SSK_UNIFORM || order->step_attempts[step] > 0))
            return ssk_flawed(flaw, "step_where", step);
        for (int64_t row = (int64_t)list * n_workers; list >= 0 && row < (int64_t)(list + 1) * n_workers; row++)
            CHECK_PART(check_row(order, row, instances.of_scope[scope], choice == SSK_WEIGHTED, flaw));
    }
    return SSK_OK;
}

int ssk_order_check(const ssk_order_t *order, const ssk_plan_t *plan, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    CHECK_PART(ssk_order_ranges(order, plan, problem, flaw));
    for (int32_t step = 0; plan->n_devices > 0 && step < order->n_steps; step++)
        if (plan->group_device[order->step_group[step]] != SSK_NONE &&
            (order->step_where[step] != SSK_OWN || order->step_when[step] != 0))
            return ssk_flawed(flaw, "step_where", step);
    return check_victims(order, plan->group_scope, problem, flaw);
}

/* Checks devices: who leads to them, and that every task fits on each. */
static int check_devices(const ssk_plan_t *plan, const ssk_graph_t *graph, ssk_flaw_t *flaw)
{
    int32_t least = INT32_MAX;
    for (int32_t device = 0; device < plan->n_devices; device++)
        least = plan->device_capacity[device] < least ? plan->device_capacity[device] : least;
    for (int32_t task = 0; task < graph->n_tasks; task++)
        if (ssk_occupancy(graph, task) > least)
            return ssk_flawed(flaw, "occupancy", task);
    for (int32_t group = 0; group < plan->n_groups; group++)
        for (int32_t other = 0; other < group; other++)
            if (plan->group_device[group] != SSK_NONE && plan->group_device[group] == plan->group_device[other] &&
                plan->group_scope[group] != plan->group_scope[other])
                return ssk_flawed(flaw, "group_device", group);
    return SSK_OK;
}

/* Checks that the numbers of buckets say which types of processors can execute their tasks. */
static int check_buckets(const ssk_plan_t *plan, const ssk_graph_t *graph, ssk_flaw_t *flaw)
{
    const ssk_rule_t *rule = &plan->runtime;
    if (rule->like == NULL || rule->ordering_interval < 1)
        return ssk_flawed(flaw, "like", SSK_NONE);
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        int32_t types = 0;
        for (int32_t i = 0; i < rule->n_members && types < 3; i++)
            if (rule->able[(int64_t)rule->row[rule->members[i]] * graph->n_tasks + task])
                types |= rule->is_device[rule->members[i]] ? 2 : 1;
        if ((rule->like[task] & 3) != types)
            return ssk_flawed(flaw, "like", task);
    }
    return SSK_OK;
}

/* Checks that a runtime has its pools and what its rule needs, and that some member can execute each task. */
static int check_runtime(const ssk_plan_t *plan, const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    const ssk_rule_t *rule = &plan->runtime;
    if (plan->n_groups <= SSK_POOL_PUSHED || graph->n_children > 0 || rule->n_members > problem->n_workers)
        return ssk_flawed(flaw, "runtime", SSK_NONE);
    for (int32_t group = 0; group <= SSK_POOL_PUSHED; group++)
        if (plan->group_scope[group] != SSK_SCOPE_WORKER)
            return ssk_flawed(flaw, "group_scope", group);
    for (int32_t i = 1; i < rule->n_members; i++)
        if (rule->is_device[rule->members[i]] && !rule->is_device[rule->members[i - 1]])
            return ssk_flawed(flaw, "members", i);
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        bool is_able = false;
        for (int32_t i = 0; i < rule->n_members && !is_able; i++)
            is_able = rule->able[(int64_t)rule->row[rule->members[i]] * graph->n_tasks + task];
        if (!is_able)
            return ssk_flawed(flaw, "able", task);
    }
    switch (rule->rule) {
    case SSK_RULE_EXPECTED_ENDS:
    case SSK_RULE_TREE:
        return rule->cost_ps && rule->latency_ps && rule->byte_ps ? SSK_OK : ssk_flawed(flaw, "cost_ps", SSK_NONE);
    case SSK_RULE_DRAWN:
        return rule->weight && rule->draws.next64 ? SSK_OK : ssk_flawed(flaw, "weight", SSK_NONE);
    case SSK_RULE_STEALING:
        return rule->victims ? SSK_OK : ssk_flawed(flaw, "victims", SSK_NONE);
    case SSK_RULE_BUCKETS:
        return check_buckets(plan, graph, flaw);
    default:
        return SSK_OK;
    }
}

int ssk_plan_check(const ssk_plan_t *plan, const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw)
{
    const ssk_instances_t instances = count_instances(problem);
    bool has_active = false;
    CHECK_PART(ssk_plan_ranges(plan, graph, problem, flaw));
    if (plan->balance_period_ps > 0 && (plan->balance_page_bytes < 1 || problem->n_allowed < 1))
        return ssk_flawed(flaw, "balance_page_bytes", SSK_NONE);
    if (plan->group_scope[0] != SSK_SCOPE_WORKER)
        return ssk_flawed(flaw, "group_scope", 0);
    for (int32_t task = 0; task < graph->n_tasks; task++) {
        int32_t instance = plan->instance_of[task], scope = plan->group_scope[plan->group_of[task]];
        if (instance < (scope == SSK_SCOPE_CLASS ? 0 : SSK_NONE) || instance >= instances.of_scope[scope])
            return ssk_flawed(flaw, "instance_of", task);
    }
    for (int32_t w = 0; w < problem->n_workers; w++)
        has_active = has_active || plan->active[w];
    if (!has_active)
        return ssk_flawed(flaw, "active", SSK_NONE);
    if (plan->n_devices > 0)
        CHECK_PART(check_devices(plan, graph, flaw));
    if (plan->runtime.n_members > 0)
        CHECK_PART(check_runtime(plan, graph, problem, flaw));
    return ssk_order_check(&plan->order, plan, problem, flaw);
}

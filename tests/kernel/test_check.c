/* Malformed arguments are refused by name and entry before anything is read through them. */
#include <math.h>

#include "support.h"

static int n_refused;

/* Seed of a scenario with at least two workers, caches, memory-side caches, children, edges, accesses and samples. */
static uint64_t rich_seed(void)
{
    for (uint64_t seed = 1;; seed++) {
        scenario_t s;
        scenario_init(&s, seed);
        bool rich = s.problem.n_workers > 1 && s.problem.n_levels > 0 && s.problem.node_slots[0] > 0 &&
                    s.problem.n_granules > 0 && s.problem.n_curve > 0 && s.graph.n_children > 1 &&
                    s.graph.n_edges > 0 && s.graph.n_accesses > 0 && s.plan.n_groups > 1 && s.plan.order.n_listed > 0;
        scenario_free(&s);
        if (rich)
            return seed;
    }
}

/* Expects a flaw at an entry (or beside it: what descends may be said of either neighbour); NULL expects none. */
static void expect(const scenario_t *s, const char *name, int64_t index)
{
    ssk_flaw_t flaw = {NULL, -2};
    int status = ssk_problem_check(&s->problem, &flaw);
    if (status == SSK_OK)
        status = ssk_graph_check(&s->graph, &s->problem, &flaw);
    if (status == SSK_OK)
        status = ssk_plan_check(&s->plan, &s->graph, &s->problem, &flaw);
    if (name == NULL) {
        CHECK(status == SSK_OK);
        return;
    }
    if (status != SSK_ERR_ARGUMENT || strcmp(flaw.name, name) != 0 || (index >= 0 && llabs(flaw.index - index) > 1)) {
        fprintf(stderr, "%s[%d]: found %d %s[%d]\n", name, (int)index, status, flaw.name ? flaw.name : "", (int)flaw.index);
        exit(1);
    }
    n_refused++;
}

/* Sets one entry of an array (that only the kernel sees as const) to a bad value and back. */
#define REFUSED(part, name, type, index, bad)               \
    do {                                                    \
        type *entry = (type *)(uintptr_t)&(part).name[index]; \
        type good = *entry;                                 \
        *entry = (bad);                                     \
        expect(&s, &#name[strncmp(#name, "costs.", 6) == 0 ? 6 : 0], (index)); \
        *entry = good;                                      \
        expect(&s, NULL, 0);                                \
    } while (0)

static void test_problem(uint64_t seed)
{
    scenario_t s;
    scenario_init(&s, seed);
    ssk_problem_t *p = &s.problem;
    int32_t last = p->n_workers - 1;
    REFUSED(*p, worker_core, int32_t, last, p->n_cores);
    REFUSED(*p, worker_core, int32_t, last, -1);
    REFUSED(*p, worker_module, int32_t, last, p->n_modules);
    REFUSED(*p, worker_module, int32_t, last, -1);
    REFUSED(*p, worker_domain, int32_t, 0, p->n_domains);
    REFUSED(*p, worker_kind, int32_t, 0, -1);
    REFUSED(*p, worker_kind, int32_t, 0, 1);
    REFUSED(*p, worker_rate, double, 0, 0.0);
    REFUSED(*p, worker_rate, double, 0, NAN);
    REFUSED(*p, worker_rate, double, 0, INFINITY);
    REFUSED(*p, domain_hops, int32_t, 0, 7);
    REFUSED(*p, domain_socket, int32_t, 0, p->n_sockets);
    REFUSED(*p, path_latency_ps, int64_t, 1, -1);
    REFUSED(*p, path_latency_ps, int64_t, 1, INT64_MAX);
    REFUSED(*p, path_share, double, 0, 0.0);
    REFUSED(*p, path_share, double, 0, 2.0);
    REFUSED(*p, path_cap, double, 0, 0.0);
    REFUSED(*p, path_cap, double, 0, NAN);
    REFUSED(*p, path_resource_ptr, int32_t, 1, -1);
    REFUSED(*p, path_resource, int32_t, p->n_crossings - 1, p->n_resources);
    REFUSED(*p, path_weight, double, 0, 0.0);
    REFUSED(*p, resource_capacity, double, 0, -1.0);
    REFUSED(*p, curve, double, 0, NAN);
    REFUSED(*p, curve_ptr, int32_t, p->n_resources, 1000);
    REFUSED(*p, path_access, int32_t, 0, p->n_paths);
    REFUSED(*p, path_hit, int32_t, 0, -1);
    REFUSED(*p, path_write, int32_t, 0, p->n_paths);
    REFUSED(*p, path_copy, int32_t, 0, -1);
    REFUSED(*p, node_slots, int64_t, 0, -1);
    REFUSED(*p, node_capacity_bytes, int64_t, 0, -1);
    REFUSED(*p, node_domain, int32_t, 0, p->n_domains);
    REFUSED(*p, node_kind, int32_t, 0, p->n_node_kinds);
    REFUSED(*p, block_bytes, int64_t, 0, -1);
    REFUSED(*p, home, int32_t, 0, p->n_nodes);
    REFUSED(*p, touch_order, int32_t, 0, -1);
    REFUSED(*p, cache_slice_bytes, int64_t, 0, -1);
    REFUSED(*p, cache_latency_ps, int64_t, 0, -1);
    REFUSED(*p, cache_rate, double, 0, 0.0);
    REFUSED(*p, cache_wait, double, 0, 1.5);
    REFUSED(*p, cache_is_victim, uint8_t, 0, 1); /* nothing is dropped before the first level */
    REFUSED(*p, cache_slices, int32_t, 0, 0);
    REFUSED(*p, n_cache_instances, int32_t, 0, 0);
    REFUSED(*p, granule_ptr, int64_t, p->n_blocks, 0);
    REFUSED(*p, granule_frame, int64_t, 0, -1);
    REFUSED(*p, costs.steal_ps, int64_t, 0, -1);
    REFUSED(*p, costs.steal_probe_ps, int64_t, 0, INT64_MAX);
    int32_t *instance = (int32_t *)(uintptr_t)&p->cache_instance[last];
    *instance = p->n_cache_instances[0];
    expect(&s, "cache_instance", last);
    *instance = 0;
    p->timer_period_ps = -1;
    expect(&s, "timer_period_ps", -1);
    p->timer_period_ps = 0;
    p->progress_limit_ps = 0;
    expect(&s, "progress_limit_ps", -1);
    p->progress_limit_ps = SSK_NEVER;
    p->costs.pop_ps = -1;
    expect(&s, "pop_ps", -1);
    p->costs.pop_ps = 0;
    p->n_workers = 0;
    expect(&s, "n_workers", -1);
    scenario_free(&s);
}

static void test_graph_and_plan(uint64_t seed)
{
    scenario_t s;
    scenario_init(&s, seed);
    ssk_graph_t *g = &s.graph;
    ssk_plan_t *plan = &s.plan;
    REFUSED(*g, ops, double, 0, -1.0);
    REFUSED(*g, ops, double, 0, NAN);
    REFUSED(*g, join_ops, double, 0, NAN);
    REFUSED(*g, creation_ops, double, 0, INFINITY);
    REFUSED(*g, arrival_ps, int64_t, 0, -1);
    uint8_t *detached = calloc((size_t)g->n_tasks, 1);
    const uint8_t *before = g->detached;
    g->detached = detached;
    REFUSED(*g, detached, uint8_t, 0, 2);
    g->detached = before;
    free(detached);
    REFUSED(*g, child_ptr, int64_t, 0, 1);
    REFUSED(*g, child_ptr, int64_t, 1, g->n_children + 1);
    REFUSED(*g, child, int32_t, 0, g->n_tasks);
    REFUSED(*g, succ_ptr, int64_t, g->n_tasks, g->n_edges + 1);
    REFUSED(*g, succ, int32_t, 0, -1);
    REFUSED(*g, access_ptr, int64_t, g->n_tasks, 0);
    REFUSED(*g, access_block, int32_t, 0, s.problem.n_blocks);
    REFUSED(*g, read_bytes, int64_t, 0, -1);
    REFUSED(*g, written_bytes, int64_t, 0, INT64_MAX);
    REFUSED(*g, join_access, int64_t, 0, -1);
    REFUSED(*plan, group_scope, int32_t, 0, SSK_SCOPE_MACHINE);
    REFUSED(*plan, group_scope, int32_t, 1, SSK_N_SCOPES);
    REFUSED(*plan, group_device, int32_t, 0, plan->n_devices);
    REFUSED(*plan, device_capacity, int32_t, 1, 0);
    REFUSED(plan->order, step_group, int32_t, 0, plan->n_groups);
    REFUSED(plan->order, step_where, int32_t, 0, 4);
    REFUSED(plan->order, step_take, int32_t, 0, -1);
    REFUSED(plan->order, step_when, int32_t, 0, 16);
    REFUSED(plan->order, step_least, int32_t, 0, 0);
    REFUSED(plan->order, step_attempts, int32_t, 0, -1);
    REFUSED(plan->order, step_choice, int32_t, 1, 3);
    REFUSED(plan->order, step_list, int32_t, 1, plan->order.n_lists);
    REFUSED(plan->order, list_ptr, int64_t, 1, plan->order.n_listed + 1);
    REFUSED(plan->order, list_instance, int32_t, 0, 100000);
    REFUSED(plan->order, list_value, int32_t, 0, -1);
    REFUSED(*plan, spawn_order, uint8_t, 0, 2);
    REFUSED(*plan, group_of, int8_t, 0, -1);
    REFUSED(*plan, instance_of, int32_t, 0, 100000);
    REFUSED(*plan, counter_group, int32_t, 0, 2);
    memset((void *)(uintptr_t)plan->active, 0, (size_t)s.problem.n_workers);
    expect(&s, "active", -1);
    scenario_free(&s);
}

/* Two parents are found when the iteration begins. */
static void test_two_parents(uint64_t seed)
{
    scenario_t s;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    ssk_allocator_t allocator = ssk_default_allocator();
    scenario_init(&s, seed);
    *(int32_t *)(uintptr_t)&s.graph.child[1] = s.graph.child[0];
    CHECK(ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw) == SSK_OK);
    CHECK(ssk_sim_begin_iteration(sim, 0, &s.graph, &s.plan, 1) == SSK_ERR_ARGUMENT);
    CHECK(strcmp(ssk_sim_failure(sim).flaw.name, "child") == 0 && ssk_sim_failure(sim).flaw.index == 1);
    ssk_sim_free(sim);
    s.problem.n_smt = 0;
    CHECK(ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw) == SSK_ERR_ARGUMENT && sim == NULL);
    scenario_free(&s);
}

int main(void)
{
    uint64_t seed = rich_seed();
    test_problem(seed);
    test_graph_and_plan(seed);
    test_two_parents(seed);
    printf("%d flaws found\n", n_refused);
    return 0;
}

/* Runtimes with queues of their own: random rules end every task, keep their invariants and survive a lack of memory. */
#include "support.h"

enum { MOST_WORKERS = 64, MOST_TASKS = 64, MOST_NODES = 16, N_RULES = SSK_RULE_BUCKETS + 1 };

/* A rule with its arrays, and a plan without anything else. */
typedef struct {
    rng_t rng, drawn;
    ssk_plan_t plan;
    int32_t scope[4], group, zero;
    uint8_t off[4], prefetches[4], active[MOST_WORKERS], is_device[MOST_WORKERS], able[2 * MOST_TASKS];
    int32_t least, choice, list, members[MOST_WORKERS], node[MOST_WORKERS], row[MOST_WORKERS], space[MOST_NODES];
    int32_t victims[MOST_WORKERS * MOST_WORKERS], like[MOST_TASKS], instance[MOST_TASKS], counter[MOST_TASKS];
    int32_t device[4];
    int64_t childless[MOST_TASKS + 1], cost_ps[2 * MOST_TASKS], latency_ps[MOST_NODES * MOST_NODES];
    double weight[MOST_WORKERS], byte_ps[MOST_NODES * MOST_NODES], zero_ops[MOST_TASKS];
    int8_t group_of[MOST_TASKS];
    uint8_t spawn_order[MOST_TASKS];
} ruled_t;

static int32_t types_of(const ruled_t *r, int32_t task, int32_t n_tasks)
{
    int32_t types = 0;
    for (int32_t i = 0; i < r->plan.runtime.n_members; i++)
        if (r->able[r->row[r->members[i]] * n_tasks + task])
            types |= r->is_device[r->members[i]] ? 2 : 1;
    return types;
}

static void make_members(ruled_t *r, const ssk_problem_t *p, int32_t n_tasks)
{
    ssk_rule_t *rule = &r->plan.runtime;
    int32_t n_devices = rng_below(&r->rng, p->n_workers);
    rule->n_members = 1 + rng_below(&r->rng, p->n_workers);
    rule->n_rows = 2;
    for (int32_t w = 0; w < p->n_workers; w++) {
        r->is_device[w] = w < n_devices;
        r->node[w] = p->worker_domain[w];
        r->row[w] = rng_below(&r->rng, 2);
        r->weight[w] = rng_unit(&r->rng);
        r->members[w] = w;
        r->active[w] = w < rule->n_members;
        for (int32_t i = 0; i < rule->n_members; i++)
            r->victims[w * rule->n_members + i] = (w + i) % rule->n_members;
    }
    for (int32_t t = 0; t < n_tasks; t++) {
        r->able[t] = rng_chance(&r->rng, 0.8);
        r->able[n_tasks + t] = rng_chance(&r->rng, 0.8);
        if (types_of(r, t, n_tasks) == 0)
            r->able[t] = r->able[n_tasks + t] = 1;
        r->cost_ps[t] = rng_below(&r->rng, 900000);
        r->cost_ps[n_tasks + t] = rng_below(&r->rng, 900000);
        r->like[t] = 4 * rng_below(&r->rng, 3) + types_of(r, t, n_tasks);
    }
    for (int32_t i = 0; i < p->n_nodes * p->n_nodes; i++)
        r->byte_ps[i] = rng_unit(&r->rng);
}

static void make_rule(ruled_t *r, scenario_t *s, uint64_t seed)
{
    static const int64_t STEPS[] = {0, 1, 500, 1000};
    ssk_plan_t *plan = &r->plan;
    ssk_rule_t *rule = &plan->runtime;
    memset(r, 0, sizeof(*r));
    r->rng.state = seed;
    r->drawn.state = seed + 7;
    CHECK(s->problem.n_workers <= MOST_WORKERS && s->graph.n_tasks <= MOST_TASKS && s->problem.n_nodes <= MOST_NODES);
    make_members(r, &s->problem, s->graph.n_tasks);
    *rule = (ssk_rule_t){
        .n_members = rule->n_members, .n_rows = 2, .rule = (int32_t)(seed % N_RULES), .pipeline = 1 + rng_below(&r->rng, 2),
        .by_priority = rng_chance(&r->rng, 0.5), .push_ps = rng_pick(&r->rng, STEPS, 4),
        .look_ps = rng_pick(&r->rng, STEPS, 4), .fetch_ps = rng_pick(&r->rng, STEPS, 4),
        .release_ps = rng_pick(&r->rng, STEPS, 4), .members = r->members, .is_device = r->is_device, .node = r->node,
        .row = r->row, .able = r->able, .space = r->space, .alpha = 1.0, .beta = rng_unit(&r->rng), .data_aware = 1,
        .pops_ready = rng_chance(&r->rng, 0.5), .cost_ps = r->cost_ps, .latency_ps = r->latency_ps, .byte_ps = r->byte_ps,
        .most_queued = 1 + rng_below(&r->rng, 3), .weight = r->weight, .draws = {&r->drawn, rng_next},
        .in_turn = rng_chance(&r->rng, 0.5), .victims = r->victims, .n_likes = 12,
        .ordering_interval = 1 + rng_below(&r->rng, 4), .min_samples = rng_below(&r->rng, 4),
        .max_taken = 1 + rng_below(&r->rng, 4), .like = r->like,
    };
    r->least = 1;
    r->list = SSK_NONE;
    for (int i = 0; i < 4; i++)
        r->device[i] = SSK_NONE;
    for (int32_t t = 0; t < s->graph.n_tasks; t++)
        r->instance[t] = r->counter[t] = SSK_NONE;
    plan->n_groups = 4;
    plan->group_scope = r->scope;
    plan->group_locked = plan->group_marks_active = plan->group_prefetches = r->off;
    plan->group_device = r->device;
    plan->order = (ssk_order_t){
        .n_steps = 1, .step_group = &r->group, .step_where = &r->zero, .step_take = &r->least, .step_when = &r->zero,
        .step_least = &r->least, .step_attempts = &r->zero, .step_choice = &r->choice, .step_list = &r->list,
    };
    plan->spawn_order = r->spawn_order;
    plan->group_of = r->group_of;
    plan->instance_of = r->instance;
    plan->counter_group = r->counter;
    plan->active = r->active;
    s->graph.n_children = 0;
    s->graph.child_ptr = r->childless;
    s->graph.join_ops = r->zero_ops;
    s->graph.join_access = s->graph.access_ptr + 1;
    s->graph.detached = NULL;
}

/* Runs three iterations of a random rule whose allocations fail from the n-th on; returns the status. */
static int run(uint64_t seed, int64_t fail_at, int64_t *n_allocations_ret, uint64_t *hash_ret)
{
    static ruled_t r;
    scenario_t s;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    counting_t counting = {0, fail_at, 0};
    ssk_allocator_t allocator = counting_allocator(&counting);
    scenario_init(&s, seed);
    make_rule(&r, &s, seed);
    s.problem.timer_period_ps = 0;
    s.problem.pooling.n_tasks = 0;
    int status = ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw);
    for (int step = 1; step <= 3 && status == SSK_OK; step++) {
        r.plan.unchanged = step == 3;
        status = ssk_sim_begin_iteration(sim, step, &s.graph, &r.plan, step == 3);
        for (status = status == SSK_OK ? SSK_MORE : status; status == SSK_MORE;) {
            status = ssk_sim_run(sim, 5);
            CHECK(status < 0 || ssk_sim_verify(sim) == SSK_OK);
        }
    }
    if (status == SSK_OK) {
        CHECK(ssk_sim_summary(sim).counters.n_tasks == 3 * s.graph.n_tasks);
        *hash_ret = trace_hash(&s, sim);
    }
    ssk_sim_free(sim);
    CHECK(counting.n_live == 0);
    scenario_free(&s);
    *n_allocations_ret = counting.n_allocations;
    return status;
}

static void test_random_rules_end_all_tasks_and_survive_a_lack_of_memory(void)
{
    int n_ended[N_RULES] = {0};
    int64_t n_failures = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        int64_t needed, made;
        uint64_t hash = 0, again = 1;
        int status = run(seed, 0, &needed, &hash);
        CHECK(status == SSK_OK || status == SSK_ERR_NO_ROOM);
        if (status != SSK_OK)
            continue;
        n_ended[seed % N_RULES]++;
        CHECK(run(seed, needed + 1, &made, &again) == SSK_OK && made == needed && again == hash);
        for (int64_t n = 1; seed <= 12 && n <= needed; n++, n_failures++)
            CHECK(run(seed, n, &made, &again) == SSK_ERR_MEMORY);
    }
    for (int rule = 0; rule < N_RULES; rule++)
        CHECK(n_ended[rule] >= 5);
    CHECK(n_failures > 300);
}

static void expect_flaw(const scenario_t *s, const ruled_t *r, const char *name)
{
    ssk_flaw_t flaw = {NULL, SSK_NONE};
    CHECK(ssk_plan_check(&r->plan, &s->graph, &s->problem, &flaw) == SSK_ERR_ARGUMENT);
    CHECK(strcmp(flaw.name, name) == 0);
}

static void test_rules_without_what_they_need_are_refused(void)
{
    static ruled_t r;
    scenario_t s;
    scenario_init(&s, 3);
    const char *const needed[] = {"cost_ps", "cost_ps", NULL, "weight", "victims", "like"};
    for (int32_t rule = 0; rule < N_RULES; rule++) {
        make_rule(&r, &s, 3);
        r.plan.runtime.rule = rule;
        r.plan.runtime.cost_ps = NULL;
        r.plan.runtime.weight = NULL;
        r.plan.runtime.victims = r.plan.runtime.like = NULL;
        if (needed[rule] != NULL)
            expect_flaw(&s, &r, needed[rule]);
    }
    make_rule(&r, &s, 5);
    r.like[0] ^= 3;
    r.plan.runtime.rule = SSK_RULE_BUCKETS;
    expect_flaw(&s, &r, "like");
    make_rule(&r, &s, 5);
    memset(r.able, 0, sizeof(r.able));
    expect_flaw(&s, &r, "able");
    make_rule(&r, &s, 5);
    r.plan.n_groups = 3;
    expect_flaw(&s, &r, "runtime");
    make_rule(&r, &s, 5);
    r.scope[2] = SSK_SCOPE_MACHINE;
    expect_flaw(&s, &r, "group_scope");
    scenario_free(&s);
}

int main(void)
{
    test_random_rules_end_all_tasks_and_survive_a_lack_of_memory();
    test_rules_without_what_they_need_are_refused();
    return 0;
}

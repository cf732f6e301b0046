#include "support.h"

#include <math.h>

uint64_t rng_next(void *rng)
{
    uint64_t z = (((rng_t *)rng)->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int32_t rng_below(rng_t *rng, int32_t n)
{
    return (int32_t)(((rng_next(rng) >> 32) * (uint64_t)n) >> 32);
}

int64_t rng_pick(rng_t *rng, const int64_t *values, int32_t n)
{
    return values[rng_below(rng, n)];
}

double rng_unit(rng_t *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

bool rng_chance(rng_t *rng, double probability)
{
    return rng_unit(rng) < probability;
}

static bool may_allocate(counting_t *counting)
{
    counting->n_allocations++;
    return counting->fail_at == 0 || counting->n_allocations < counting->fail_at;
}

static void *counting_allocate(void *context, size_t n_bytes)
{
    counting_t *counting = context;
    if (!may_allocate(counting))
        return NULL;
    counting->n_live++;
    return malloc(n_bytes);
}

static void *counting_resize(void *context, void *block, size_t n_bytes)
{
    counting_t *counting = context;
    if (!may_allocate(counting))
        return NULL;
    counting->n_live += block == NULL;
    return realloc(block, n_bytes);
}

static void counting_release(void *context, void *block)
{
    ((counting_t *)context)->n_live -= block != NULL;
    free(block);
}

ssk_allocator_t counting_allocator(counting_t *counting)
{
    ssk_allocator_t allocator = {counting, counting_allocate, counting_resize, counting_release};
    return allocator;
}

static void *array(scenario_t *s, int64_t count, size_t item_bytes)
{
    void *block = calloc((size_t)count + 1, item_bytes);
    CHECK(block != NULL && s->n_arrays < 128);
    s->arrays[s->n_arrays++] = block;
    return block;
}

#define INT32(count) ((int32_t *)array(s, (count), sizeof(int32_t)))
#define INT64(count) ((int64_t *)array(s, (count), sizeof(int64_t)))
#define DOUBLE(count) ((double *)array(s, (count), sizeof(double)))
#define UINT8(count) ((uint8_t *)array(s, (count), sizeof(uint8_t)))

static const int64_t COSTS[] = {0, 0, 1, 7, 100, 1000};

static int64_t random_cost(scenario_t *s)
{
    return rng_pick(&s->rng, COSTS, 6);
}

static void make_workers(scenario_t *s)
{
    ssk_problem_t *p = &s->problem;
    p->n_domains = 1 + rng_below(&s->rng, 4);
    p->n_smt = 1 + rng_below(&s->rng, 3);
    int32_t cores_per_domain = 1 + rng_below(&s->rng, 3);
    p->n_cores = p->n_domains * cores_per_domain;
    p->n_workers = p->n_cores * p->n_smt;
    p->n_sockets = (p->n_domains + 1) / 2;
    p->n_distances = p->n_domains > 1 ? 3 : 2;
    p->n_classes = 1 + (p->n_workers + p->n_domains) % 5;
    p->n_modules = p->n_workers % 3 == 0 ? p->n_domains : p->n_cores;
    p->n_mates = p->n_workers / p->n_modules;
    int32_t *core = INT32(p->n_workers), *module = INT32(p->n_workers), *domain = INT32(p->n_workers);
    int32_t *kind = INT32(p->n_workers), *socket = INT32(p->n_domains), *hops = INT32(p->n_domains * p->n_domains);
    double *rate = DOUBLE(p->n_workers * p->n_smt);
    for (int32_t w = 0; w < p->n_workers; w++) {
        core[w] = w / p->n_smt;
        module[w] = w / p->n_mates;
        domain[w] = core[w] / cores_per_domain;
        for (int32_t k = 0; k < p->n_smt; k++)
            rate[w * p->n_smt + k] = 1e-3 * (1.0 + 0.3 * k) / (k + 1);
    }
    for (int32_t d = 0; d < p->n_domains; d++)
        socket[d] = d / 2;
    for (int32_t i = 0; i < p->n_domains * p->n_domains; i++)
        hops[i] = i / p->n_domains != i % p->n_domains;
    p->worker_core = core;
    p->worker_module = module;
    p->worker_domain = domain;
    p->worker_kind = kind;
    p->worker_rate = rate;
    p->domain_socket = socket;
    p->domain_hops = hops;
}

/* Nodes are one per domain and one far one; remote paths cross the link, the last resource. */
static void make_paths(scenario_t *s)
{
    ssk_problem_t *p = &s->problem;
    int32_t d = p->n_domains, n = p->n_nodes = d + 1, caches = rng_chance(&s->rng, 0.4) ? n : 0, link = n + caches;
    p->n_resources = link + 1;
    p->n_paths = d * n * (caches ? 2 : 1) + n * n;
    int64_t *latency = INT64(p->n_paths), *slots = INT64(n);
    double *share = DOUBLE(p->n_paths);
    double *cap = DOUBLE(p->n_paths * p->n_mates), *weight = DOUBLE(4 * p->n_paths), *capacity = DOUBLE(p->n_resources);
    int32_t *ptr = INT32(p->n_paths + 1), *resource = INT32(4 * p->n_paths);
    int32_t *access = INT32(d * n), *hit = INT32(d * n), *copy = INT32(n * n), *curve_ptr = INT32(p->n_resources + 1);
    int32_t *write = INT32(d * n);
    double *curve = DOUBLE(2 * p->n_resources), own_cap = rng_chance(&s->rng, 0.5) ? INFINITY : 2e-3;
    int32_t path = 0, entry = 0, n_curve = 0;
    for (int32_t from = 0; from < d; from++)
        for (int32_t node = 0; node < n; node++)
            for (int32_t is_hit = 0; is_hit < 1 + (caches > 0); is_hit++) {
                (is_hit ? hit : access)[from * n + node] = path;
                latency[path] = random_cost(s);
                if (!is_hit) {
                    resource[entry] = node;
                    weight[entry++] = from == node ? 1.0 : 1.7;
                }
                if (caches > 0) {
                    resource[entry] = n + node;
                    weight[entry++] = 1.0;
                }
                if (from != node) {
                    resource[entry] = link;
                    weight[entry++] = 1.0;
                }
                ptr[++path] = entry;
            }
    for (int32_t i = 0; caches == 0 && i < d * n; i++)
        hit[i] = SSK_NONE;
    for (int32_t i = 0; i < d * n; i++) /* every second one takes the path of another domain */
        write[i] = access[i % 2 ? i : (i + n) % (d * n)];
    for (int32_t i = 0; i < n * n; i++) {
        copy[i] = path;
        int32_t low = i / n < i % n ? i / n : i % n, high = i / n < i % n ? i % n : i / n;
        resource[entry] = low;
        weight[entry++] = low == high ? 2.0 : 1.0;
        if (low != high) {
            resource[entry] = high;
            weight[entry++] = 1.0;
        }
        ptr[++path] = entry;
    }
    CHECK(path == p->n_paths);
    for (int32_t i = 0; i < p->n_paths * p->n_mates; i++)
        cap[i] = own_cap / (1 + i % p->n_mates);
    for (int32_t x = 0; x < p->n_resources; x++) {
        capacity[x] = x == link ? 3e-3 : x < n ? 1e-3 * (1 + x) : 2e-2;
        if (x < n && rng_chance(&s->rng, 0.3)) {
            curve[n_curve++] = capacity[x] / 3;
            curve[n_curve++] = capacity[x];
        }
        curve_ptr[x + 1] = n_curve;
    }
    for (int32_t node = 0; node < n; node++)
        slots[node] = caches > 0 ? 1 + rng_below(&s->rng, 40) : 0;
    p->path_latency_ps = latency;
    for (int32_t i = 0; i < p->n_paths; i++)
        share[i] = rng_chance(&s->rng, 0.5) ? 1.0 : 0.5;
    p->path_share = share;
    p->path_cap = cap;
    p->path_resource_ptr = ptr;
    p->path_resource = resource;
    p->path_weight = weight;
    p->n_crossings = entry;
    p->path_access = access;
    p->path_hit = hit;
    p->path_write = write;
    p->path_copy = copy;
    p->resource_capacity = capacity;
    p->curve_ptr = curve_ptr;
    p->curve = curve;
    p->n_curve = n_curve;
    p->node_slots = slots;
}

static void make_memory(scenario_t *s)
{
    static const int64_t SIZES[] = {0, 64, 512, 1000, 2048, 5000};
    ssk_problem_t *p = &s->problem;
    int32_t blocks = p->n_blocks = 1 + rng_below(&s->rng, 12), levels = p->n_levels = rng_below(&s->rng, 4);
    int64_t *size = INT64(blocks), *capacity = INT64(p->n_nodes), *granule_ptr = INT64(blocks + 1);
    int32_t *home = INT32(blocks), *kind = INT32(p->n_nodes), *domain = INT32(p->n_nodes);
    int32_t *order = INT32(p->n_domains * p->n_nodes);
    for (int32_t b = 0; b < blocks; b++) {
        size[b] = rng_pick(&s->rng, SIZES, 6);
        home[b] = rng_below(&s->rng, p->n_domains + 1) - 1; /* the far node may be too small */
        granule_ptr[b + 1] = granule_ptr[b] + (size[b] + 511) / 512;
    }
    int64_t *frame = INT64(granule_ptr[blocks]);
    for (int64_t i = 0; i < granule_ptr[blocks]; i++)
        frame[i] = (7 * i + 3) % (granule_ptr[blocks] * 7 + 1);
    p->n_allowed = p->n_nodes;
    p->n_node_kinds = 2;
    for (int32_t node = 0; node < p->n_nodes; node++) {
        capacity[node] = node + 1 < p->n_nodes ? 120000 : 6000;
        domain[node] = node < p->n_domains ? node : SSK_NONE;
        kind[node] = node == p->n_domains;
        for (int32_t d = 0; d < p->n_domains; d++)
            order[d * p->n_nodes + node] = (d + node) % p->n_nodes;
    }
    int32_t most = p->n_cores + p->n_domains + levels;
    int64_t *cache_bytes = INT64(4 * most), *cache_latency = INT64(most);
    double *cache_rate = DOUBLE(most), *cache_wait = DOUBLE(levels);
    uint8_t *is_victim = UINT8(levels);
    int32_t *slices = INT32(levels);
    int32_t *instance = INT32(levels * p->n_workers), *n_instances = INT32(levels);
    for (int32_t level = 0; level < levels; level++) {
        bool is_even = rng_chance(&s->rng, 0.5); /* all instances alike */
        int32_t n = slices[level] = rng_chance(&s->rng, 0.5) ? 1 : 2 + rng_below(&s->rng, 3);
        n_instances[level] = level == 0 ? p->n_cores : level == 1 ? p->n_domains : 1;
        for (int32_t i = 0; i < n_instances[level]; i++, p->n_caches++) {
            bool is_first = i == 0 || !is_even;
            int64_t whole = (level == 0 ? 3000 : 12000) / (is_even ? 1 : 1 + rng_below(&s->rng, 3));
            for (int32_t j = 0; j < n; j++, p->n_cache_slices++)
                cache_bytes[p->n_cache_slices] = n == 1     ? whole
                                                 : is_first ? whole * (3 + rng_below(&s->rng, 8)) / 6 / n
                                                            : cache_bytes[p->n_cache_slices - n];
            cache_latency[p->n_caches] = 5 + level + (is_even ? 0 : rng_below(&s->rng, 3));
            cache_rate[p->n_caches] = 0.08 / (level + 1 + (is_even ? 0 : rng_below(&s->rng, 3)));
        }
        cache_wait[level] = rng_chance(&s->rng, 0.5) ? 0.0 : rng_below(&s->rng, 11) / 10.0;
        for (int32_t w = 0; level < 2 && w < p->n_workers; w++)
            instance[level * p->n_workers + w] = level == 0 ? p->worker_core[w] : p->worker_domain[w];
    }
    p->block_bytes = size;
    p->home = home;
    p->granule_ptr = granule_ptr;
    p->granule_frame = frame;
    p->n_granules = granule_ptr[blocks];
    p->node_capacity_bytes = capacity;
    p->node_domain = domain;
    p->node_kind = kind;
    p->touch_order = order;
    if (rng_chance(&s->rng, 0.5)) {
        uint8_t *follows = UINT8(blocks);
        for (int32_t b = 0; b < blocks; b++)
            follows[b] = rng_chance(&s->rng, 0.3) ? (uint8_t)rng_below(&s->rng, 3) : 0;
        p->follows = follows;
    }
    p->cache_slices = slices;
    p->cache_slice_bytes = cache_bytes;
    p->cache_latency_ps = cache_latency;
    p->cache_rate = cache_rate;
    p->cache_wait = cache_wait;
    p->cache_instance = instance;
    p->n_cache_instances = n_instances;
    p->transfer_level = rng_below(&s->rng, levels + 1) - 1;
    for (int32_t level = 1; level < levels; level++)
        is_victim[level] = level != p->transfer_level && rng_chance(&s->rng, 0.5);
    p->cache_is_victim = is_victim;
    p->transfer_latency_ps = 11;
    p->transfer_rate = p->transfer_level == SSK_NONE ? 0.0 : 0.05;
    p->displacement_rate = p->transfer_level == SSK_NONE || rng_chance(&s->rng, 0.5) ? 0.0 : 0.04;
    p->upgrade_rate = p->transfer_level == SSK_NONE || rng_chance(&s->rng, 0.5) ? 0.0 : 0.03;
}

static void make_costs(scenario_t *s)
{
    ssk_costs_t *c = &s->problem.costs;
    int64_t *probe = INT64(3), *steal = INT64(2);
    for (int32_t i = 0; i < 3; i++)
        probe[i] = random_cost(s);
    for (int32_t i = 0; i < 2; i++)
        steal[i] = random_cost(s);
    c->spawn_child_first_ps = random_cost(s);
    c->spawn_parent_first_ps = random_cost(s);
    c->pop_ps = random_cost(s);
    c->push_ps = random_cost(s);
    c->lock_hold_ps = random_cost(s);
    c->barrier_ps = random_cost(s);
    c->context_switch_ps = random_cost(s);
    c->steal_probe_ps = probe;
    c->n_steal_probe = 1 + rng_below(&s->rng, 3);
    c->steal_ps = steal;
    c->n_steal = 1 + rng_below(&s->rng, 2);
}

/* Parents come before their children, edges lead from leaves to later leaves. */
static void make_graph(scenario_t *s)
{
    static const int64_t SIZES[] = {0, 64, 300, 1000, 4000};
    ssk_graph_t *g = &s->graph;
    int32_t n = g->n_tasks = 1 + rng_below(&s->rng, 40);
    g->n_kinds = 1;
    int32_t *parent = INT32(n), *child = INT32(n), *succ = INT32(n * n), *block = INT32(8 * n);
    int64_t *child_ptr = INT64(n + 1), *succ_ptr = INT64(n + 1), *access_ptr = INT64(n + 1), *join = INT64(n);
    int64_t *read = INT64(8 * n), *written = INT64(8 * n), *arrival = INT64(n);
    double *ops = DOUBLE(n), *join_ops = DOUBLE(n), *creation = DOUBLE(n);
    uint8_t *detached = UINT8(n);
    double in_tree = rng_chance(&s->rng, 0.7) ? 0.8 : 0.0, dense = rng_chance(&s->rng, 0.5) ? 0.1 : 0.0;
    for (int32_t t = 0; t < n; t++) {
        parent[t] = t > 0 && rng_chance(&s->rng, in_tree) ? t - 1 - rng_below(&s->rng, t < 5 ? t : 5) : SSK_NONE;
        if (parent[t] == SSK_NONE && rng_chance(&s->rng, 0.3))
            arrival[t] = 500000 * rng_below(&s->rng, 4);
    }
    int32_t n_child = 0, n_succ = 0, n_access = 0;
    for (int32_t t = 0; t < n; t++) {
        bool is_leaf = true;
        for (int32_t c = t + 1; c < n; c++)
            if (parent[c] == t) {
                child[n_child++] = c;
                is_leaf = false;
            }
        child_ptr[t + 1] = n_child;
        for (int32_t to = t + 1; is_leaf && to < n; to++) {
            bool to_leaf = true;
            for (int32_t c = to + 1; c < n; c++)
                to_leaf = to_leaf && parent[c] != to;
            if (to_leaf && rng_chance(&s->rng, dense))
                succ[n_succ++] = to;
        }
        succ_ptr[t + 1] = n_succ;
        for (int32_t part = 0; part < 2; part++) {
            for (int32_t i = rng_below(&s->rng, 4); i > 0 && (part == 0 || !is_leaf); i--) {
                block[n_access] = rng_below(&s->rng, s->problem.n_blocks);
                read[n_access] = rng_pick(&s->rng, SIZES, 5);
                written[n_access++] = rng_chance(&s->rng, 0.5) ? 0 : rng_pick(&s->rng, SIZES, 5);
            }
            if (part == 0)
                join[t] = n_access;
        }
        access_ptr[t + 1] = n_access;
        ops[t] = rng_chance(&s->rng, 0.2) ? 0.0 : floor(500.0 * rng_unit(&s->rng));
        join_ops[t] = is_leaf ? 0.0 : floor(100.0 * rng_unit(&s->rng));
        creation[t] = floor(20.0 * rng_unit(&s->rng));
    }
    g->n_children = n_child;
    g->n_edges = n_succ;
    g->n_accesses = n_access;
    g->ops = ops;
    g->join_ops = join_ops;
    g->child_ptr = child_ptr;
    g->child = child;
    g->succ_ptr = succ_ptr;
    g->succ = succ;
    g->access_ptr = access_ptr;
    g->join_access = join;
    g->access_block = block;
    g->read_bytes = read;
    g->written_bytes = written;
    g->creation_ops = creation;
    g->arrival_ps = arrival;
    g->detached = rng_chance(&s->rng, 0.5) ? detached : NULL;
    for (int32_t t = 0; t < n; t++)
        detached[t] = parent[t] != SSK_NONE && rng_chance(&s->rng, 0.4);
}

/* Ranks and weights for some of the steps that look elsewhere. */
static void make_victims(scenario_t *s, rng_t *rng)
{
    const ssk_problem_t *p = &s->problem;
    ssk_plan_t *plan = &s->plan;
    int32_t n_instances[] = {p->n_workers, p->n_domains, p->n_sockets, 1, p->n_classes};
    int32_t entry = 0, steps = plan->order.n_steps;
    int32_t most = p->n_workers > p->n_domains ? p->n_workers : p->n_domains;
    most = p->n_classes > most ? p->n_classes : most;
    int32_t *least = INT32(steps), *choice = INT32(steps), *list = INT32(steps);
    int32_t *attempts = INT32(steps);
    int32_t *instance = INT32(steps * p->n_workers * most), *value = INT32(steps * p->n_workers * most);
    int64_t *ptr = INT64(steps * p->n_workers + 1);
    for (int32_t step = 0; step < steps; step++) {
        bool is_own = plan->order.step_where[step] == SSK_OWN;
        bool is_class = plan->group_scope[plan->order.step_group[step]] == SSK_SCOPE_CLASS;
        if (!is_own && !is_class)
            rng_below(rng, 2); /* discarded: the other choices stay what they are */
        least[step] = is_own || plan->order.step_where[step] == SSK_ANYWHERE ? 1 : 1 + rng_below(rng, 2);
        attempts[step] = is_own || plan->order.step_where[step] == SSK_ANYWHERE ? 0 : rng_below(rng, 3);
        choice[step] = is_own ? SSK_UNIFORM : rng_below(rng, 3);
        list[step] = choice[step] == SSK_UNIFORM ? SSK_NONE : plan->order.n_lists++;
        for (int32_t w = 0; choice[step] != SSK_UNIFORM && w < p->n_workers; w++) {
            int32_t scope = plan->group_scope[plan->order.step_group[step]], domain = p->worker_domain[w];
            int32_t own[] = {w, domain, p->domain_socket[domain], 0, SSK_NONE};
            for (int32_t i = 0, rank = 0; i < n_instances[scope]; i++) {
                if (i == own[scope])
                    continue;
                instance[entry] = i;
                value[entry++] = choice[step] == SSK_RANKED ? (rank += rng_below(rng, 2)) : 1 + rng_below(rng, 9);
            }
            ptr[(plan->order.n_lists - 1) * p->n_workers + w + 1] = entry;
        }
    }
    plan->order.step_least = least;
    plan->order.step_attempts = attempts;
    plan->order.step_choice = choice;
    plan->order.step_list = list;
    plan->order.n_listed = entry;
    plan->order.list_ptr = ptr;
    plan->order.list_instance = instance;
    plan->order.list_value = value;
}

/* Pools for some of the blocks, which are allocated and freed with tasks of the graph. */
static void make_pooling(scenario_t *s)
{
    ssk_problem_t *p = &s->problem;
    ssk_pooling_t *pools = &p->pooling;
    int32_t n = s->graph.n_tasks, blocks = p->n_blocks;
    int32_t *size_class = INT32(blocks), *near = INT32(blocks), *allocate = INT32(blocks), *release = INT32(blocks);
    int64_t *taken = INT64(blocks), *allocate_ptr = INT64(n + 1), *release_ptr = INT64(n + 1);
    if (rng_chance(&s->rng, 0.5))
        return;
    for (int32_t b = 0; b < blocks; b++) {
        size_class[b] = rng_chance(&s->rng, 0.7) ? 13 : SSK_NONE;
        taken[b] = size_class[b] < 0 ? p->block_bytes[b] : 1 << 13;
        near[b] = rng_below(&s->rng, blocks + 1) - 1;
        if (size_class[b] >= 0)
            ((int32_t *)(uintptr_t)p->home)[b] = SSK_NONE;
    }
    for (int32_t t = 0; t < n; t++) {
        for (int32_t b = 0; b < blocks; b++) {
            if (size_class[b] >= 0 && b % n == t && rng_chance(&s->rng, 0.7))
                allocate[pools->n_allocate++] = b;
            if (size_class[b] >= 0 && (5 * b + 3) % n == t)
                release[pools->n_release++] = b;
        }
        allocate_ptr[t + 1] = pools->n_allocate;
        release_ptr[t + 1] = pools->n_release;
    }
    p->taken_bytes = taken;
    p->follows = NULL;
    pools->n_tasks = n;
    pools->size_class = size_class;
    pools->allocate_near = near;
    pools->allocate_ptr = allocate_ptr;
    pools->release_ptr = release_ptr;
    pools->allocate = allocate;
    pools->release = release;
}

static void make_plan(scenario_t *s)
{
    const ssk_problem_t *p = &s->problem;
    ssk_plan_t *plan = &s->plan;
    rng_t victims = {s->rng.state + 3}, devices = {s->rng.state + 5};
    int32_t n = s->graph.n_tasks, groups = plan->n_groups = 1 + rng_below(&s->rng, 3), steps = 0;
    int32_t n_instances[] = {p->n_workers, p->n_domains, p->n_sockets, 1, p->n_classes};
    int32_t *scope = INT32(groups), *group = INT32(32), *where = INT32(32), *take = INT32(32), *when = INT32(32);
    int32_t *instance = INT32(n), *counter = INT32(n);
    int32_t *device = INT32(groups), *capacity = INT32(2), *occupancy = INT32(n);
    uint8_t *locked = UINT8(groups), *marks = UINT8(groups), *order = UINT8(n), *active = UINT8(p->n_workers);
    int8_t *group_of = (int8_t *)UINT8(n);
    for (int32_t g = 0; g < groups; g++) {
        scope[g] = g == 0 ? SSK_SCOPE_WORKER : rng_below(&s->rng, SSK_N_SCOPES);
        locked[g] = rng_chance(&s->rng, 0.3);
        marks[g] = rng_chance(&s->rng, 0.3);
        device[g] = scope[g] == SSK_SCOPE_MACHINE && rng_chance(&devices, 0.7) ? 1 : SSK_NONE;
        int32_t last = device[g] == SSK_NONE ? SSK_ANYWHERE : SSK_OWN;
        for (int32_t w = scope[g] == SSK_SCOPE_CLASS ? SSK_ANYWHERE : SSK_OWN; w <= last; w++) {
            group[steps] = g;
            where[steps] = w;
            take[steps] = rng_below(&s->rng, 2);
            when[steps++] = w == SSK_OWN || w == SSK_ANYWHERE ? 0 : rng_below(&s->rng, 8);
        }
    }
    capacity[0] = 9;
    capacity[1] = 4 + rng_below(&devices, 20);
    for (int32_t t = 0; t < n; t++)
        occupancy[t] = rng_below(&devices, 5);
    s->graph.occupancy = rng_chance(&devices, 0.7) ? occupancy : NULL;
    double *exposure = DOUBLE(n);
    for (int32_t t = 0; t < n; t++)
        exposure[t] = rng_below(&devices, 5) / 4.0;
    s->graph.exposure = rng_chance(&devices, 0.4) ? exposure : NULL;
    plan->n_devices = 2;
    plan->device_capacity = capacity;
    plan->group_device = device;
    plan->order.n_steps = steps;
    plan->group_scope = scope;
    plan->order.step_group = group;
    plan->order.step_where = where;
    make_victims(s, &victims);
    for (int32_t t = 0; t < n; t++) {
        order[t] = (uint8_t)rng_below(&s->rng, 2);
        group_of[t] = (int8_t)rng_below(&s->rng, groups);
        bool is_open = rng_chance(&s->rng, 0.7) && scope[group_of[t]] != SSK_SCOPE_CLASS;
        instance[t] = is_open ? SSK_NONE : rng_below(&s->rng, n_instances[scope[group_of[t]]]);
        counter[t] = rng_below(&s->rng, 3) - 1;
    }
    for (int32_t w = 0; w < p->n_workers; w++)
        active[w] = w == 0 || rng_chance(&s->rng, 0.9);
    plan->n_samples = rng_below(&s->rng, 3);
    int64_t *offset = INT64(p->n_blocks * plan->n_samples);
    for (int32_t i = 0; i < p->n_blocks * plan->n_samples; i++)
        offset[i] = rng_below(&s->rng, 4000);
    plan->n_counter_groups = 2;
    plan->group_locked = locked;
    plan->group_marks_active = marks;
    plan->order.step_take = take;
    plan->order.step_when = when;
    plan->spawn_order = order;
    plan->group_of = group_of;
    plan->instance_of = instance;
    plan->counter_group = counter;
    plan->active = active;
    plan->roots = rng_below(&s->rng, 3);
    plan->monitor_period_ps = plan->n_samples > 0 ? 100000 : 0;
    plan->balance_period_ps = rng_chance(&s->rng, 0.3) ? 1 + rng_below(&s->rng, 100000) : 0;
    plan->balance_page_bytes = 1 + rng_below(&s->rng, 3000);
    plan->balance_faults = 1 + rng_below(&s->rng, 2);
    plan->balance_group = rng_below(&s->rng, 3);
    s->problem.costs.page_fault_ps = 17;
    s->problem.costs.page_move_ps = 130;
    plan->sample_offset_bytes = offset;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001B3);
}

static int take_events(void *context, size_t n)
{
    recording_t *r = context;
    CHECK(n >= 1 && n <= MAX_RECORDED);
    if (++r->n_calls == r->refuse_at)
        return -1;
    for (size_t i = 0; i < n; i++) {
        r->hash = mix(mix(mix(r->hash, (uint64_t)r->time_ps[i]), (uint64_t)r->kind[i]), (uint64_t)r->worker[i]);
        r->hash = mix(mix(mix(r->hash, (uint64_t)r->task[i]), (uint64_t)r->iteration[i]), (uint64_t)r->arg0[i]);
        r->hash = mix(r->hash, (uint64_t)r->arg1[i]);
    }
    r->n_events += (int64_t)n;
    return 0;
}

uint64_t trace_hash(scenario_t *s, ssk_sim_t *sim)
{
    int status = ssk_sim_flush_events(sim);
    bool refused = s->recording.refuse_at > 0 && s->recording.n_calls >= s->recording.refuse_at;
    CHECK(status == (refused ? SSK_ERR_HOOK : SSK_OK));
    CHECK(refused || s->recording.n_events == ssk_sim_summary(sim).counters.n_events);
    return mix(s->recording.hash, (uint64_t)ssk_sim_summary(sim).counters.n_events);
}

void scenario_init(scenario_t *s, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    s->rng.state = seed;
    s->victim.state = seed + 1;
    s->wake.state = seed + 2;
    make_workers(s);
    make_paths(s);
    make_memory(s);
    make_costs(s);
    make_graph(s);
    make_pooling(s);
    make_plan(s);
    s->problem.victim_stream = (ssk_random_t){&s->victim, rng_next};
    s->problem.wake_stream = (ssk_random_t){&s->wake, rng_next};
    s->problem.progress_limit_ps = SSK_NEVER;
    s->problem.timer_period_ps = rng_chance(&s->rng, 0.3) ? 50000 : 0;
    recording_t *r = &s->recording;
    s->problem.recorder = (ssk_recorder_t){
        r->time_ps, r->kind, r->worker, r->task, r->iteration, r->arg0, r->arg1, 1 + seed % MAX_RECORDED, r, take_events,
    };
}

void scenario_free(scenario_t *s)
{
    for (int32_t i = 0; i < s->n_arrays; i++)
        free(s->arrays[i]);
    s->n_arrays = 0;
}

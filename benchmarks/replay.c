/*
 * Runs recorded iterations in the kernel alone, without Python, so that its instructions can be counted.
 *
 *   replay FILE
 *
 * The file consists of named arrays as benchmarks/instructions.py writes them: a 64-byte name, the number of bytes, the
 * number of items, and the data, padded to 8 bytes. Random numbers are the program's own: counts do not depend on NumPy.
 */
#define _POSIX_C_SOURCE 199309L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ssk.h"

typedef struct {
    char name[64];
    int64_t n_bytes, n_items;
} record_t;

typedef struct {
    char *data;
    size_t n_bytes;
} file_t;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "replay: %s: %s\n", what, name);
    exit(1);
}

static file_t read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0)
        fail("cannot read", path);
    file_t file = {NULL, (size_t)ftell(stream)};
    file.data = malloc(file.n_bytes + 1);
    rewind(stream);
    if (file.data == NULL || fread(file.data, 1, file.n_bytes, stream) != file.n_bytes)
        fail("cannot read", path);
    fclose(stream);
    return file;
}

static const record_t *find(const file_t *file, const char *part, const char *name)
{
    char wanted[96];
    snprintf(wanted, sizeof(wanted), "%s.%s", part, name);
    for (size_t at = 0; at < file->n_bytes;) {
        const record_t *record = (const record_t *)(const void *)(file->data + at);
        if (strncmp(record->name, wanted, sizeof(wanted)) == 0)
            return record;
        at += sizeof(*record) + ((size_t)record->n_bytes + 7) / 8 * 8;
    }
    fail("missing", wanted);
    return NULL;
}

static const void *array(const file_t *file, const char *part, const char *name)
{
    return find(file, part, name) + 1;
}

static int64_t length(const file_t *file, const char *part, const char *name)
{
    return find(file, part, name)->n_items;
}

static int64_t number(const file_t *file, const char *part, const char *name)
{
    return *(const int64_t *)array(file, part, name);
}

static int32_t highest(const int32_t *values, int64_t n)
{
    int32_t result = -1;
    for (int64_t i = 0; i < n; i++)
        result = values[i] > result ? values[i] : result;
    return result;
}

static uint64_t splitmix(void *state)
{
    uint64_t z = *(uint64_t *)state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#define ARRAY(target, name) target = array(file, part, name)
#define COUNT(target, name) target = (int32_t)length(file, part, name)
#define NUMBER(target, name) target = number(file, part, name)

static void fill_paths(ssk_problem_t *p, const file_t *file, const char *part)
{
    COUNT(p->n_paths, "paths.latency_ps");
    COUNT(p->n_crossings, "paths.resource");
    COUNT(p->n_resources, "resource_capacity");
    COUNT(p->n_curve, "curve");
    ARRAY(p->path_latency_ps, "paths.latency_ps");
    ARRAY(p->path_share, "paths.share");
    ARRAY(p->path_cap, "paths.cap");
    ARRAY(p->path_resource_ptr, "paths.resource_ptr");
    ARRAY(p->path_resource, "paths.resource");
    ARRAY(p->path_weight, "paths.weight");
    ARRAY(p->path_access, "paths.access");
    ARRAY(p->path_hit, "paths.hit");
    ARRAY(p->path_write, "paths.write");
    ARRAY(p->path_copy, "paths.copy");
    ARRAY(p->resource_capacity, "resource_capacity");
    ARRAY(p->curve_ptr, "curve_ptr");
    ARRAY(p->curve, "curve");
}

static void fill_memory(ssk_problem_t *p, const file_t *file, const char *part)
{
    COUNT(p->n_levels, "n_cache_instances");
    COUNT(p->n_caches, "cache_latency_ps");
    COUNT(p->n_cache_slices, "cache_slice_bytes");
    COUNT(p->n_blocks, "block_bytes");
    p->n_granules = length(file, part, "granule_frame");
    p->n_allowed = (int32_t)length(file, part, "touch_order") / p->n_domains;
    ARRAY(p->node_capacity_bytes, "node_capacity_bytes");
    ARRAY(p->node_domain, "node_domain");
    ARRAY(p->node_kind, "node_kind");
    p->n_node_kinds = highest(p->node_kind, p->n_nodes) + 1;
    ARRAY(p->node_slots, "node_slots");
    ARRAY(p->cache_slices, "cache_slices");
    ARRAY(p->cache_slice_bytes, "cache_slice_bytes");
    ARRAY(p->cache_latency_ps, "cache_latency_ps");
    ARRAY(p->cache_rate, "cache_rate");
    ARRAY(p->cache_wait, "cache_wait");
    ARRAY(p->cache_instance, "cache_instance");
    ARRAY(p->n_cache_instances, "n_cache_instances");
    NUMBER(p->transfer_level, "transfer_level"); /* no case has one: its rate is not in the file */
    ARRAY(p->granule_ptr, "granule_ptr");
    ARRAY(p->granule_frame, "granule_frame");
    ARRAY(p->block_bytes, "block_bytes");
    ARRAY(p->home, "home");
    ARRAY(p->touch_order, "touch_order");
}

static void fill_costs(ssk_costs_t *c, const file_t *file, const char *part)
{
    NUMBER(c->spawn_child_first_ps, "costs.spawn_child_first_ps");
    NUMBER(c->spawn_parent_first_ps, "costs.spawn_parent_first_ps");
    NUMBER(c->pop_ps, "costs.pop_ps");
    NUMBER(c->push_ps, "costs.push_ps");
    NUMBER(c->lock_hold_ps, "costs.lock_hold_ps");
    NUMBER(c->barrier_ps, "costs.barrier_ps");
    NUMBER(c->context_switch_ps, "costs.context_switch_ps");
    ARRAY(c->steal_probe_ps, "costs.steal_probe_ps");
    ARRAY(c->steal_ps, "costs.steal_ps");
    COUNT(c->n_steal_probe, "costs.steal_probe_ps");
    COUNT(c->n_steal, "costs.steal_ps");
}

static void fill_problem(ssk_problem_t *p, const file_t *file, const char *part)
{
    memset(p, 0, sizeof(*p));
    COUNT(p->n_workers, "worker_core");
    COUNT(p->n_domains, "domain_socket");
    COUNT(p->n_nodes, "node_capacity_bytes");
    p->n_smt = (int32_t)number(file, part, "n_smt");
    p->n_mates = (int32_t)number(file, part, "n_mates");
    p->n_classes = (int32_t)number(file, part, "n_classes");
    ARRAY(p->worker_core, "worker_core");
    ARRAY(p->worker_module, "worker_module");
    ARRAY(p->worker_domain, "worker_domain");
    ARRAY(p->worker_kind, "worker_kind");
    ARRAY(p->worker_rate, "worker_rate");
    ARRAY(p->domain_hops, "domain_hops");
    ARRAY(p->domain_socket, "domain_socket");
    p->n_cores = highest(p->worker_core, p->n_workers) + 1;
    p->n_modules = highest(p->worker_module, p->n_workers) + 1;
    p->n_sockets = highest(p->domain_socket, p->n_domains) + 1;
    p->n_distances = highest(p->domain_hops, (int64_t)p->n_domains * p->n_domains) + 2;
    fill_paths(p, file, part);
    fill_memory(p, file, part);
    fill_costs(&p->costs, file, part);
}

static void fill_graph(ssk_graph_t *g, const file_t *file, const char *part)
{
    memset(g, 0, sizeof(*g));
    COUNT(g->n_tasks, "graph.task_class");
    g->n_kinds = (int32_t)(length(file, part, "graph.ops") / g->n_tasks);
    COUNT(g->n_children, "graph.child");
    COUNT(g->n_edges, "graph.succ");
    COUNT(g->n_accesses, "graph.access_block");
    ARRAY(g->ops, "graph.ops");
    ARRAY(g->join_ops, "graph.join_ops");
    ARRAY(g->child_ptr, "graph.child_ptr");
    ARRAY(g->child, "graph.child");
    ARRAY(g->succ_ptr, "graph.succ_ptr");
    ARRAY(g->succ, "graph.succ");
    ARRAY(g->access_ptr, "graph.access_ptr");
    ARRAY(g->join_access, "graph.join_access");
    ARRAY(g->access_block, "graph.access_block");
    ARRAY(g->read_bytes, "graph.read_bytes");
    ARRAY(g->written_bytes, "graph.written_bytes");
    ARRAY(g->creation_ops, "graph.creation_ops");
    ARRAY(g->arrival_ps, "graph.arrival_ps");
}

static void fill_plan(ssk_plan_t *r, const file_t *file, const char *part, int32_t n_blocks)
{
    memset(r, 0, sizeof(*r));
    COUNT(r->n_groups, "plan.group_scope");
    COUNT(r->order.n_steps, "plan.order.step_group");
    r->n_counter_groups = highest(array(file, part, "plan.counter_group"), length(file, part, "plan.counter_group")) + 1;
    r->n_samples = n_blocks > 0 ? (int32_t)length(file, part, "plan.sample_offset_bytes") / n_blocks : 0;
    ARRAY(r->group_scope, "plan.group_scope");
    ARRAY(r->group_locked, "plan.group_locked");
    ARRAY(r->group_marks_active, "plan.group_marks_active");
    ARRAY(r->order.step_group, "plan.order.step_group");
    ARRAY(r->order.step_where, "plan.order.step_where");
    ARRAY(r->order.step_take, "plan.order.step_take");
    ARRAY(r->order.step_when, "plan.order.step_when");
    ARRAY(r->order.step_least, "plan.order.step_least");
    ARRAY(r->order.step_attempts, "plan.order.step_attempts");
    ARRAY(r->order.step_choice, "plan.order.victims.step_choice");
    ARRAY(r->order.step_list, "plan.order.victims.step_list");
    r->order.n_lists = highest(r->order.step_list, r->order.n_steps) + 1;
    r->order.n_listed = length(file, part, "plan.order.victims.list_instance");
    ARRAY(r->order.list_ptr, "plan.order.victims.list_ptr");
    ARRAY(r->order.list_instance, "plan.order.victims.list_instance");
    ARRAY(r->order.list_value, "plan.order.victims.list_value");
    ARRAY(r->spawn_order, "plan.spawn_order");
    ARRAY(r->group_of, "plan.group_of");
    ARRAY(r->instance_of, "plan.instance_of");
    ARRAY(r->counter_group, "plan.counter_group");
    ARRAY(r->active, "plan.active");
    NUMBER(r->roots, "plan.roots");
    NUMBER(r->monitor_period_ps, "plan.monitor_period_ps");
    ARRAY(r->sample_offset_bytes, "plan.sample_offset_bytes");
}

/* What is counted stays one function, whatever is inlined into it. */
#if defined(__GNUC__) && !defined(__clang__)
#define COUNTED __attribute__((noipa))
#else
#define COUNTED __attribute__((noinline))
#endif

enum { CHUNK = 100 };

/* Handles the events of an iteration; returns their number, rounded up to whole chunks. */
COUNTED int64_t counted_events(ssk_sim_t *sim, int *status);

int64_t counted_events(ssk_sim_t *sim, int *status)
{
    int64_t n = 0;
    for (*status = SSK_MORE; *status == SSK_MORE; n += CHUNK)
        *status = ssk_sim_run(sim, CHUNK);
    return n;
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

typedef struct {
    int64_t events;
    double ns;
} effort_t;

COUNTED int counted_iteration(ssk_sim_t *sim, int32_t number, const ssk_graph_t *graph, const ssk_plan_t *plan, int last,
                              effort_t *effort);

int counted_iteration(ssk_sim_t *sim, int32_t number, const ssk_graph_t *graph, const ssk_plan_t *plan, int last,
                      effort_t *effort)
{
    int status = ssk_sim_begin_iteration(sim, number, graph, plan, last);
    if (status != SSK_OK)
        return status;
    double begin = cpu_ns();
    effort->events += counted_events(sim, &status);
    effort->ns += cpu_ns() - begin;
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage", "replay FILE");
    file_t file = read_file(argv[1]);
    ssk_problem_t problem;
    ssk_hooks_t hooks;
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_flaw_t flaw = {NULL, -1};
    ssk_sim_t *sim = NULL;
    uint64_t states[2] = {1, 2};
    effort_t effort = {0, 0.0};
    fill_problem(&problem, &file, "problem");
    problem.progress_limit_ps = SSK_NEVER;
    problem.victim_stream = (ssk_random_t){&states[0], splitmix};
    problem.wake_stream = (ssk_random_t){&states[1], splitmix};
    memset(&hooks, 0, sizeof(hooks));
    if (ssk_sim_alloc(&sim, &problem, &hooks, &allocator, &flaw) != SSK_OK)
        fail("problem refused", flaw.name == NULL ? "" : flaw.name);
    int64_t iterations = number(&file, "run", "iterations");
    for (int64_t i = 0; i < iterations; i++) {
        char part[32];
        ssk_graph_t graph;
        ssk_plan_t plan;
        snprintf(part, sizeof(part), "iteration%lld", (long long)i);
        fill_graph(&graph, &file, part);
        fill_plan(&plan, &file, part, problem.n_blocks);
        int32_t index = (int32_t)number(&file, part, "number");
        int status = counted_iteration(sim, index, &graph, &plan, i == iterations - 1, &effort);
        if (status != SSK_OK)
            fail("run failed", ssk_message(status));
    }
    ssk_summary_t summary = ssk_sim_summary(sim);
    printf("{\"tasks\": %lld, \"events\": %lld, \"ns\": %.3f, \"compiler\": \"%s\"}\n",
           (long long)summary.counters.n_tasks, (long long)effort.events, effort.ns / (double)effort.events, ssk_compiler());
    ssk_sim_free(sim);
    free(file.data);
    return 0;
}

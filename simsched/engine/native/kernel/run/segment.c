/*
 * Segments: accesses of a task and their share of the computation; docs/semantics.md, rules S.
 *
 * A segment computes while its flows run one after the other; after the last flow it ends with its tail or with the
 * computation, whichever is later. When the number of busy workers on the core changes, computation and flow are
 * settled and go on at the new rate and in the class of the new cap.
 */
#include "run/segment.h"

#include <math.h>

#include "copies/gather.h"
#include "flows/sharing.h"
#include "memory/balancing.h"
#include "memory/homes.h"
#include "run/decisions.h"
#include "run/rows.h"
#include "run/run.h"
#include "run/worker.h"

int ssk_start_work(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_graph_t *graph = &sim->graph;
    size_t task = (size_t)w->task;
    size_t entry = (size_t)sim->problem.worker_kind[worker] * (size_t)graph->n_tasks + task;
    bool in_join = sim->tasks.phase[task] == SSK_TASK_JOIN;
    w->ops = in_join ? graph->join_ops[entry] : graph->ops[entry];
    if (isinf(w->ops)) {
        sim->failure.task = w->task;
        sim->failure.worker = worker;
        sim->failure.kind = sim->problem.worker_kind[worker];
        return ssk_fail(sim, SSK_ERR_NO_PROCESSOR);
    }
    w->access = w->access_end = 0;
    if (sim->tasks.has_accesses) {
        w->access = in_join ? graph->join_access[task] : graph->access_ptr[task];
        w->access_end = in_join ? graph->access_ptr[task + 1] : graph->join_access[task];
    }
    w->n_accesses = w->access_end - w->access;
    w->claimed = w->access_end;
    return w->n_accesses > 0 && sim->problem.copies_data ? ssk_gather(sim, worker) : ssk_begin_work(sim, worker);
}

int ssk_begin_work(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_graph_t *graph = &sim->graph;
    int status = sim->tasks.phase[w->task] == SSK_TASK_JOIN ? SSK_OK : ssk_tell_on_start(sim, worker);
    if (status != SSK_OK)
        return status;
    w->total_bytes = 0;
    for (int64_t i = w->access; i < w->access_end; i++)
        w->total_bytes += graph->read_bytes[i] + graph->written_bytes[i];
    if (w->n_accesses > 0 && !ssk_includes_accesses(&sim->problem, worker))
        return SSK_ACT_ACCESS;
    sim->counters.requested_bytes += w->total_bytes;
    w->access = w->access_end;
    return ssk_compute(sim, worker);
}

int ssk_compute(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    if (!(w->ops > 0.0))
        return SSK_ACT_ACCESS;
    w->ops_left = w->ops;
    w->n_flows = 0;
    w->tail = 0;
    w->rate = ssk_rate(sim, worker);
    w->since = w->start = sim->now;
    w->since_lag = w->lag;
    w->state = SSK_EXECUTING;
    w->flow = 0;
    return SSK_ACT_FLOW;
}

/* Sets the access bits of the pages that an access of n_bytes touches. */
static void sample_pages(ssk_sim_t *sim, int32_t block, int64_t n_bytes)
{
    const ssk_plan_t *plan = &sim->plan;
    int64_t period = (sim->now - sim->iterations[sim->n_iterations - 1].start_ps) / plan->monitor_period_ps;
    size_t first = (size_t)block * (size_t)plan->n_samples;
    for (size_t i = first; i < first + (size_t)plan->n_samples; i++) {
        if (plan->sample_offset_bytes[i] < n_bytes && sim->last_period[i] != period) {
            sim->last_period[i] = period;
            sim->samples[i]++;
        }
    }
}

/* Counts an access of n_bytes of which `moved` go to memory. */
static void count_access(ssk_sim_t *sim, int32_t worker, int32_t block, int64_t n_bytes, int64_t moved)
{
    const ssk_problem_t *p = &sim->problem;
    const ssk_worker_t *w = &sim->workers[worker];
    int32_t domain = p->worker_domain[worker], group = sim->plan.counter_group[w->task];
    sim->counters.requested_bytes += n_bytes;
    sim->node_bytes_now[domain * p->n_nodes + w->node] += moved;
    bool is_remote = p->node_domain[w->node] != SSK_NONE && p->node_domain[w->node] != domain;
    if (group >= 0)
        sim->group_bytes[2 * (group * p->n_node_kinds + p->node_kind[w->node]) + is_remote] += moved;
    if (p->pooling.n_tasks > 0 && p->pooling.size_class[block] >= 0)
        sim->managed_bytes[is_remote] += n_bytes;
    if (sim->plan.monitor_period_ps > 0)
        sample_pages(sim, block, n_bytes);
}

static int32_t path_of(const ssk_sim_t *sim, int32_t worker, uint8_t way)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t entry = p->worker_domain[worker] * p->n_nodes + sim->workers[worker].node;
    return (way == SSK_WAY_HIT ? p->path_hit : way == SSK_WAY_WRITE ? p->path_write : p->path_access)[entry];
}

/* Adds a flow to the segment, and the latency of its path to the tail. */
static inline void add_flow(ssk_sim_t *sim, int32_t worker, uint8_t way, int64_t n_bytes)
{
    ssk_worker_t *w = &sim->workers[worker];
    if (n_bytes <= 0)
        return;
    w->flow_way[w->n_flows] = way;
    w->flow_bytes[w->n_flows++] = n_bytes;
    w->tail = ssk_add_ps(w->tail, ssk_path_latency(&sim->flows, path_of(sim, worker, way)));
}

/* Whether written bytes take a path of their own. */
static bool writes_apart(const ssk_sim_t *sim, int32_t worker)
{
    return path_of(sim, worker, SSK_WAY_WRITE) != path_of(sim, worker, SSK_WAY_READ);
}

/*
 * The bytes that are written back beyond the `missing` ones of an access, of whose bytes `dirtied` were not dirty: what is
 * read and then written moves twice. A path of writes is that of lines which are fetched, modified and written back.
 */
static int64_t written_back(const ssk_sim_t *sim, int32_t worker, int64_t missing, int64_t read, int64_t written,
                            int64_t dirtied)
{
    int64_t paid = writes_apart(sim, worker) ? ssk_min(missing, written) : missing - ssk_min(missing, read);
    return dirtied > paid ? dirtied - paid : 0;
}

/* The missing bytes that take the path of writes: those that become dirty, and what passes the caches again. */
static int64_t modified(const ssk_sim_t *sim, int32_t worker, int64_t missing, int64_t footprint, int64_t written,
                        int64_t dirtied)
{
    int64_t fresh = dirtied + ssk_max(0, missing - footprint);
    return writes_apart(sim, worker) ? ssk_min(missing, ssk_min(written, fresh)) : 0;
}

/* Resolves an access: first touch, caches, flows, counting. */
static int resolve(ssk_sim_t *sim, int32_t worker, int64_t access)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_graph_t *graph = &sim->graph;
    int32_t block = graph->access_block[access];
    int64_t written = graph->written_bytes[access], n_bytes = graph->read_bytes[access] + written;
    int64_t whole = sim->problem.block_bytes[block];
    int64_t missing, moved, dirtied = 0, hit = 0, wait = 0, *missing_of_group = NULL;
    int32_t group = sim->plan.counter_group[w->task];
    bool is_first = ssk_wants_home(sim, block, written);
    int status = is_first ? ssk_touch_first(sim, worker, block) : SSK_OK;
    if (status != SSK_OK)
        return status;
    w->tail = 0;
    if (sim->plan.balance_period_ps > 0) {
        if (is_first)
            ssk_balance_first_touch(sim, block);
        else
            w->tail = ssk_balance_access(sim, worker, block, n_bytes);
        w->ops_left += (double)w->tail * w->rate;
    }
    w->node = sim->home[block];
    if (sim->problem.copies_data)
        w->node = ssk_used_node(sim, block, worker);
    else if (sim->replicas.n_each > 0)
        w->node = ssk_reached_node(sim, block, sim->problem.worker_domain[worker], written > 0);
    w->n_flows = 0;
    if (group >= 0 && sim->problem.n_levels > 0)
        missing_of_group = sim->group_missing + (size_t)group * (size_t)sim->problem.n_levels;
    double exposure = graph->exposure == NULL ? 1.0 : graph->exposure[w->task];
    status = ssk_caches_access(&sim->caches, worker, block, n_bytes, written, exposure, missing_of_group, &missing,
                               &w->tail, &wait);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    if (wait > 0)
        w->ops_left += (double)wait * w->rate;
    moved = missing;
    if (written > 0) {
        dirtied = ssk_min(written, whole) - ssk_caches_write(&sim->caches, worker, block, n_bytes, written);
        moved = missing + written_back(sim, worker, missing, n_bytes - written, written, dirtied);
        sim->counters.write_back_bytes += moved - missing;
    }
    if (moved > 0 && sim->problem.node_slots[w->node] > 0) {
        int64_t footprint = ssk_min(n_bytes, whole);
        hit = ssk_sidecache_access(&sim->sidecache, w->node, block, footprint - ssk_min(moved, footprint), footprint, moved);
    }
    sim->node_hit_bytes_now[w->node] += hit;
    int64_t apart = ssk_min(moved - hit, modified(sim, worker, missing, ssk_min(n_bytes, whole), written, dirtied));
    add_flow(sim, worker, SSK_WAY_HIT, hit);
    add_flow(sim, worker, SSK_WAY_READ, moved - hit - apart);
    add_flow(sim, worker, SSK_WAY_WRITE, apart);
    count_access(sim, worker, block, n_bytes, moved);
    ssk_event(sim, SSK_ACCESS, worker, w->task, block, moved);
    return SSK_OK;
}

int ssk_next_access(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_graph_t *graph = &sim->graph;
    if (w->access == w->access_end) {
        bool has_claims = sim->problem.copies_data && w->claimed < w->access_end;
        int status = has_claims ? ssk_give_back(sim, worker) : SSK_OK;
        if (status != SSK_OK)
            return status;
        if (sim->tasks.phase[w->task] == SSK_TASK_JOIN || !sim->tasks.has_children)
            return SSK_ACT_END;
        sim->tasks.phase[w->task] = SSK_TASK_SPAWNING;
        return SSK_ACT_SPAWN;
    }
    int64_t access = w->access;
    if (graph->access_after != NULL) {
        access = ssk_next_in_row(sim, worker);
        if (access == SSK_NONE)
            return ssk_await_end(sim, worker);
        w->executed = access;
    }
    w->access++;
    w->ops_left = ssk_ops_of_access(graph, w, access);
    w->rate = ssk_rate(sim, worker);
    w->since = w->start = sim->now;
    w->since_lag = w->lag;
    w->state = SSK_EXECUTING;
    w->flow = 0;
    int status = resolve(sim, worker, access);
    return status == SSK_OK ? SSK_ACT_FLOW : status;
}

/*
 * Returns when the end of a segment whose flows are over is noticed, and sets with which lag: that of the computation
 * or, for flows and tail, that of the worker, which the last flow has left.
 */
static int64_t plan_end(ssk_worker_t *w)
{
    int64_t compute_end = w->since;
    double lag = w->since_lag;
    if (w->ops_left > 0.0) {
        double exact = w->ops_left / w->rate - w->since_lag;
        int64_t wait = ssk_ceil_ps(exact);
        compute_end = ssk_add_ps(w->since, wait);
        lag = (double)wait - exact;
    }
    if (compute_end == w->tail_end)
        w->end_lag = lag < w->lag ? lag : w->lag;
    else
        w->end_lag = compute_end > w->tail_end ? lag : w->lag;
    return ssk_max(w->tail_end, compute_end);
}

int ssk_next_flow(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    if (w->flow < w->n_flows) {
        w->flow_path = path_of(sim, worker, w->flow_way[w->flow]);
        w->flowing = true;
        ssk_flows_start(&sim->flows, worker, ssk_flow_class(sim, worker, w->flow_path),
                        (double)w->flow_bytes[w->flow], sim->now, w->lag);
        return SSK_WAIT;
    }
    w->tail_end = ssk_add_ps(sim->now, w->tail);
    int64_t end = plan_end(w);
    if (end <= sim->now)
        return SSK_ACT_SEGMENT_END;
    w->then = SSK_ACT_SEGMENT_END;
    ssk_timers_set(&sim->timers, worker, end);
    return SSK_WAIT;
}

int ssk_flow_ended(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    ssk_event(sim, SSK_FLOW_END, worker, w->task, w->flow_path, w->flow_bytes[w->flow]);
    sim->path_bytes[w->flow_path] += w->flow_bytes[w->flow];
    w->flow++;
    w->flowing = false;
    return SSK_ACT_FLOW;
}

void ssk_count_execution(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    w->counters.busy_ps += sim->now - w->start;
    if (sim->plan.times_tasks)
        sim->executed_ps[w->task] += sim->now - w->start;
}

int ssk_segment_end(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    w->state = SSK_PAYING;
    ssk_count_execution(sim, worker);
    w->lag = sim->lag = w->end_lag;
    return SSK_ACT_ACCESS;
}

/* Subtracts the operations done between the last change of rate and `now - lag`. */
static void settle(const ssk_sim_t *sim, ssk_worker_t *w)
{
    double left = w->ops_left - w->rate * ((double)(sim->now - w->since) + (w->since_lag - sim->lag));
    w->ops_left = left > 0.0 ? left : 0.0;
    w->since = sim->now;
    w->since_lag = sim->lag;
}

void ssk_adapt(ssk_sim_t *sim, int32_t worker)
{
    ssk_go_on(sim, worker, ssk_halt(sim, worker), 0);
}

double ssk_halt(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    settle(sim, w);
    return w->flowing ? ssk_flows_stop(&sim->flows, worker, sim->now, sim->lag) : 0.0;
}

void ssk_go_on(ssk_sim_t *sim, int32_t worker, double left, int64_t wait)
{
    ssk_worker_t *w = &sim->workers[worker];
    w->rate = ssk_rate(sim, worker);
    w->ops_left += (double)wait * w->rate;
    w->tail = ssk_add_ps(w->tail, wait);
    w->tail_end = ssk_add_ps(w->tail_end, wait);
    if (w->flowing) {
        w->flow_path = path_of(sim, worker, w->flow_way[w->flow]);
        ssk_flows_start(&sim->flows, worker, ssk_flow_class(sim, worker, w->flow_path), left, sim->now, sim->lag);
    } else {
        ssk_timers_set(&sim->timers, worker, ssk_max(sim->now, plan_end(w)));
    }
}

int ssk_save_segment(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    ssk_saved_t *saved = ssk_tasks_save(&sim->tasks, &sim->allocator, w->task);
    if (saved == NULL)
        return SSK_ERR_MEMORY;
    settle(sim, w);
    memset(saved, 0, sizeof(*saved));
    if (w->flowing) {
        w->flow_bytes[w->flow] = ssk_ceil_ps(ssk_flows_stop(&sim->flows, worker, sim->now, sim->lag));
        w->flowing = false;
    } else {
        w->tail = ssk_max(0, w->tail_end - sim->now);
    }
    for (int32_t i = w->flow; i < w->n_flows; i++) {
        if (w->flow_bytes[i] == 0)
            continue;
        saved->flow_bytes[saved->n_flows] = w->flow_bytes[i];
        saved->flow_way[saved->n_flows++] = w->flow_way[i];
    }
    saved->ops_left = w->ops_left;
    saved->tail = w->tail;
    saved->node = w->node;
    saved->access = w->access;
    saved->executed = w->executed;
    saved->access_end = w->access_end;
    saved->n_accesses = w->n_accesses;
    saved->total_bytes = w->total_bytes;
    saved->ops = w->ops;
    ssk_count_execution(sim, worker);
    w->lag = sim->lag;
    w->state = SSK_PAYING;
    return SSK_OK;
}

int ssk_resume_segment(ssk_sim_t *sim, int32_t worker, const ssk_saved_t *saved)
{
    ssk_worker_t *w = &sim->workers[worker];
    w->ops_left = saved->ops_left;
    w->tail = saved->tail;
    w->node = saved->node;
    w->access = saved->access;
    w->executed = saved->executed;
    w->access_end = saved->access_end;
    w->n_accesses = saved->n_accesses;
    w->total_bytes = saved->total_bytes;
    w->ops = saved->ops;
    w->n_flows = saved->n_flows;
    w->flow = 0;
    for (int32_t i = 0; i < saved->n_flows; i++) {
        w->flow_bytes[i] = saved->flow_bytes[i];
        w->flow_way[i] = saved->flow_way[i];
    }
    w->rate = ssk_rate(sim, worker);
    w->since = w->start = sim->now;
    w->since_lag = w->lag;
    w->state = SSK_EXECUTING;
    return SSK_ACT_FLOW;
}

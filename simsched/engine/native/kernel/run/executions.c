/*
 * Executions of tasks: duplicates, kills, progress; docs/semantics.md, rules DK.
 *
 * A worker executes its task, waits inside of it, or pays for a duplicate of it, while its state is SSK_EXECUTING,
 * SSK_AWAITING or SSK_PAYING; no worker keeps the number of a leaf beyond that. So executions need no list: n_duplicates, the executions of all tasks beyond
 * one each, tells whether there is anything to look for.
 */
#include "run/executions.h"

#include "pools/search.h"
#include "run/decisions.h"
#include "run/rows.h"
#include "run/run.h"
#include "run/segment.h"
#include "run/worker.h"

/* The first worker from `first` on, other than one, that executes a task or pays for a duplicate of it; or SSK_NONE. */
static int32_t next_execution(const ssk_sim_t *sim, int32_t task, int32_t besides, int32_t first)
{
    for (int32_t w = first; w < sim->problem.n_workers; w++) {
        int state = sim->workers[w].state;
        if (w != besides && sim->workers[w].task == task && (state == SSK_EXECUTING || state == SSK_AWAITING || state == SSK_PAYING))
            return w;
    }
    return SSK_NONE;
}

bool ssk_has_duplicates(const ssk_sim_t *sim, int32_t worker)
{
    return sim->n_duplicates > 0 && next_execution(sim, sim->workers[worker].task, worker, 0) != SSK_NONE;
}

/* Stops the flows of a worker's segment; what they have not moved has not been moved between domain and node. */
static void take_back_bytes(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t left = 0;
    for (int32_t i = w->flow; i < w->n_flows; i++) {
        int64_t of_flow = w->flow_bytes[i];
        if (w->flowing) {
            of_flow = (int64_t)ssk_flows_stop(&sim->flows, worker, sim->now, sim->lag);
            sim->path_bytes[w->flow_path] += w->flow_bytes[i] - of_flow;
        }
        w->flowing = false;
        left += of_flow;
        if (w->flow_way[i] == SSK_WAY_HIT)
            sim->node_hit_bytes_now[w->node] -= of_flow;
    }
    sim->node_bytes_now[sim->problem.worker_domain[worker] * sim->problem.n_nodes + w->node] -= left;
}

/* Takes a worker's task away for good; what the worker does then is up to the caller. */
static void drop(ssk_sim_t *sim, int32_t worker, int loss)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t spent = SSK_NONE;
    if (w->state == SSK_EXECUTING) {
        spent = sim->now - w->began;
        sim->counters.wasted_ps += spent;
        ssk_count_execution(sim, worker);
        take_back_bytes(sim, worker);
        w->state = SSK_PAYING;
    } else if (w->state == SSK_AWAITING) {
        spent = sim->now - w->began;
        sim->counters.wasted_ps += spent;
        ssk_stop_awaiting(sim, worker);
    } else {
        w->counters.acquire_ps -= ssk_timers_time(&sim->timers, worker) - sim->now;
    }
    ssk_event(sim, SSK_KILL, worker, w->task, loss, spent);
    sim->counters.kills++;
    w->task = SSK_NONE;
}

/* The same; the worker pays for it and looks for work. */
static void lose(ssk_sim_t *sim, int32_t worker, int loss)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t cost = sim->problem.costs.context_switch_ps;
    drop(sim, worker, loss);
    w->lag = sim->lag;
    w->then = SSK_ACT_SEARCH;
    w->counters.acquire_ps += cost;
    ssk_timers_set(&sim->timers, worker, ssk_add_ps(sim->now, cost));
}

int32_t ssk_lose_by_failure(ssk_sim_t *sim, int32_t worker)
{
    ssk_saved_t forgotten;
    int32_t task = sim->workers[worker].task;
    drop(sim, worker, SSK_LOSS_FAILED);
    (void)ssk_tasks_restore(&sim->tasks, task, &forgotten);
    if (sim->n_duplicates > 0 && next_execution(sim, task, worker, 0) != SSK_NONE) {
        sim->n_duplicates--;
        return SSK_NONE;
    }
    sim->tasks.phase[task] = SSK_TASK_NEW;
    return task;
}

/* Refuses a decision unless it is about a leaf that a worker executes. */
static int check_leaf(ssk_sim_t *sim, int32_t worker, int hook)
{
    bool is_awaiting = worker >= 0 && worker < sim->problem.n_workers && sim->workers[worker].state == SSK_AWAITING;
    int status = is_awaiting ? SSK_OK : ssk_check_executing(sim, worker, hook);
    if (status != SSK_OK)
        return status;
    int32_t task = sim->workers[worker].task;
    if (sim->graph.child_ptr[task] == sim->graph.child_ptr[task + 1])
        return SSK_OK;
    sim->failure.task = task;
    return ssk_refuse(sim, hook, SSK_REASON_SPAWNS);
}

int ssk_duplicate(ssk_sim_t *sim, int32_t worker, int32_t taker, int hook, int64_t *cost_ret)
{
    int status = check_leaf(sim, worker, hook);
    if (status != SSK_OK)
        return status;
    ssk_worker_t *t = &sim->workers[taker];
    ssk_set_busy(sim, taker, true);
    t->task = sim->workers[worker].task;
    ssk_event(sim, SSK_DUPLICATE, taker, t->task, worker, 0);
    sim->counters.duplicates++;
    sim->n_duplicates++;
    *cost_ret = ssk_steal_cost(sim, ssk_distance(sim, taker, SSK_SCOPE_WORKER, worker));
    t->counters.acquire_ps += *cost_ret;
    return SSK_OK;
}

int ssk_kill(ssk_sim_t *sim, int32_t worker, int hook)
{
    int status = check_leaf(sim, worker, hook);
    if (status != SSK_OK)
        return status;
    int32_t task = sim->workers[worker].task;
    lose(sim, worker, SSK_LOSS_KILLED);
    if (sim->n_duplicates > 0 && next_execution(sim, task, worker, 0) != SSK_NONE) {
        sim->n_duplicates--;
        return SSK_OK;
    }
    sim->tasks.phase[task] = SSK_TASK_NEW;
    ssk_release_domain(sim, task);
    return ssk_push_back(sim, task, worker);
}

void ssk_end_duplicates(ssk_sim_t *sim, int32_t task)
{
    int32_t w = SSK_NONE;
    while ((w = next_execution(sim, task, SSK_NONE, w + 1)) != SSK_NONE) {
        lose(sim, w, SSK_LOSS_ENDED);
        sim->n_duplicates--;
    }
}

/* The access of the present segment, of a body or join that has some. */
static int64_t executed(const ssk_sim_t *sim, const ssk_worker_t *w)
{
    return sim->graph.access_after != NULL ? w->executed : w->access - 1;
}

/* The part of the segment's operations that is done. */
static double operations_done(const ssk_sim_t *sim, const ssk_worker_t *w)
{
    double total = w->ops;
    if (w->n_accesses > 0)
        total = ssk_ops_of_access(&sim->graph, w, executed(sim, w));
    if (!(total > 0.0))
        return 1.0;
    double left = w->ops_left - w->rate * ((double)(sim->now - w->since) + (w->since_lag - sim->lag));
    double done = 1.0 - (left > 0.0 ? left : 0.0) / total;
    return done > 0.0 ? done : 0.0;
}

/* The part of the access's bytes that has been moved or was in a cache. */
static double bytes_done(const ssk_sim_t *sim, const ssk_worker_t *w, int32_t worker)
{
    const ssk_graph_t *graph = &sim->graph;
    int64_t access = executed(sim, w);
    int64_t total = w->n_accesses > 0 ? graph->read_bytes[access] + graph->written_bytes[access] : 0;
    double left = 0.0;
    if (total <= 0)
        return 1.0;
    for (int32_t i = w->flow; i < w->n_flows; i++)
        left += i == w->flow && w->flowing ? ssk_flows_left(&sim->flows, worker, sim->now, sim->lag)
                                           : (double)w->flow_bytes[i];
    double done = 1.0 - left / (double)total;
    return done > 0.0 ? done : 0.0;
}

int ssk_sim_progress(const ssk_sim_t *sim, int32_t worker, ssk_progress_t *progress_ret)
{
    if (worker < 0 || worker >= sim->problem.n_workers)
        return 0;
    const ssk_worker_t *w = &sim->workers[worker];
    progress_ret->task = w->task;
    progress_ret->began_ps = w->began;
    progress_ret->fraction = 0.0;
    progress_ret->phase = w->access - (w->access_end - w->n_accesses);
    if (w->state == SSK_AWAITING)
        return 1;
    if (w->state != SSK_EXECUTING)
        return 0;
    double operations = operations_done(sim, w), bytes = bytes_done(sim, w, worker);
    progress_ret->phase = w->n_accesses > 0 ? w->access - 1 - (w->access_end - w->n_accesses) : 0;
    progress_ret->fraction = operations < bytes ? operations : bytes;
    return 1;
}

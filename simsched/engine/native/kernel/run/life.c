/*
 * Life of a task: start, spawning, sync, end; docs/semantics.md, rules L.
 */
#include "run/life.h"

#include "memory/homes.h"
#include "pools/search.h"
#include "run/decisions.h"
#include "run/executions.h"
#include "run/iteration.h"
#include "run/rows.h"
#include "run/run.h"
#include "run/segment.h"
#include "run/worker.h"

int ssk_begin_task(ssk_sim_t *sim, int32_t worker)
{
    int32_t task = sim->workers[worker].task;
    ssk_tasks_t *tasks = &sim->tasks;
    ssk_saved_t saved;
    bool is_new = tasks->phase[task] == SSK_TASK_NEW || ssk_tasks_starts_over(tasks, task);
    sim->workers[worker].began = sim->now;
    ssk_event(sim, is_new ? SSK_TASK_START : SSK_TASK_RESUME, worker, task, 0, 0);
    if (is_new) {
        tasks->phase[task] = SSK_TASK_BODY;
        return ssk_start_work(sim, worker);
    }
    if (ssk_tasks_restore(tasks, task, &saved))
        return ssk_resume_segment(sim, worker, &saved);
    return tasks->phase[task] == SSK_TASK_SPAWNING ? SSK_ACT_SPAWN : SSK_ACT_SYNC;
}

static void suspend(ssk_sim_t *sim, int32_t worker, int32_t task)
{
    sim->tasks.phase[task] = SSK_TASK_SUSPENDED;
    ssk_event(sim, SSK_TASK_SUSPEND, worker, task, sim->tasks.outstanding[task], 0);
    int32_t place = ssk_vacate(sim, task);
    if (place != SSK_NONE)
        ssk_offer(sim, place);
}

/* Pushes tasks that have waited for nothing but the creation of a task. */
static int release_held(ssk_sim_t *sim, int32_t task, int32_t pusher, int64_t *clock)
{
    const ssk_plan_t *plan = &sim->plan;
    for (int64_t i = plan->held_ptr[task]; i < plan->held_ptr[task + 1]; i++) {
        if (--sim->tasks.pending[plan->held[i]] > 0)
            continue;
        int status = ssk_push(sim, plan->held[i], pusher, false, clock);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

int ssk_create(ssk_sim_t *sim, int32_t task, int32_t pusher, int64_t *clock)
{
    if (sim->is_pooling && pusher != SSK_NONE) {
        int status = ssk_allocate_for(sim, task, pusher);
        if (status != SSK_OK)
            return status;
    }
    if (--sim->tasks.pending[task] == 0) {
        int status = ssk_push(sim, task, pusher, false, clock);
        if (status != SSK_OK)
            return status;
    }
    return sim->plan.n_held > 0 ? release_held(sim, task, pusher, clock) : SSK_OK;
}

/* The order in which a worker creates a child; negative on failure. */
static int spawn_order(ssk_sim_t *sim, int32_t parent, int32_t child, int32_t worker)
{
    int order = SSK_AS_PLANNED;
    if (sim->hooks.on_spawn != NULL)
        order = sim->hooks.on_spawn(sim->hooks.context, parent, child, worker);
    if (order < 0)
        return ssk_fail(sim, SSK_ERR_HOOK);
    return order == SSK_CHILD_FIRST || order == SSK_PARENT_FIRST ? order : sim->plan.spawn_order[child];
}

int ssk_spawn(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    ssk_tasks_t *tasks = &sim->tasks;
    const ssk_graph_t *graph = &sim->graph;
    const ssk_costs_t *costs = &sim->problem.costs;
    int32_t task = w->task;
    int64_t index = graph->child_ptr[task] + tasks->next_child[task];
    if (index == graph->child_ptr[task + 1])
        return SSK_ACT_SYNC;
    int32_t child = graph->child[index];
    bool is_awaited = index + 1 == graph->child_ptr[task + 1] && tasks->outstanding[task] > 0;
    int order = spawn_order(sim, task, child, worker);
    if (order < 0)
        return order;
    bool is_child_first = order == SSK_CHILD_FIRST && tasks->pending[child] == 1;
    tasks->next_child[task]++;
    ssk_event(sim, SSK_SPAWN, worker, task, child, is_child_first ? SSK_CHILD_FIRST : SSK_PARENT_FIRST);
    double ops = tasks->has_creation_ops ? graph->creation_ops[child] : 0.0;
    int64_t cost = ops > 0.0 ? ssk_ceil_ps(ops / ssk_rate(sim, worker)) : 0;
    cost = ssk_add_ps(cost, is_child_first ? costs->spawn_child_first_ps : costs->spawn_parent_first_ps);
    if (!is_child_first) {
        w->counters.spawn_ps += cost;
        return ssk_pay(sim, worker, cost, SSK_ACT_CREATE);
    }
    if (is_awaited) { /* nothing is left to do before a child has ended */
        suspend(sim, worker, task);
    } else {
        int64_t clock = sim->now;
        int status = ssk_push(sim, task, worker, true, &clock);
        if (status != SSK_OK)
            return status;
        cost = ssk_add_ps(cost, clock - sim->now);
    }
    if (sim->is_pooling) {
        int status = ssk_allocate_for(sim, child, worker);
        if (status != SSK_OK)
            return status;
    }
    tasks->pending[child] = 0;
    int32_t supplied = ssk_note_ready(sim, child);
    if (supplied != SSK_NONE)
        ssk_wake_supplied(sim, supplied);
    w->task = child;
    w->counters.spawn_ps += cost;
    return ssk_pay(sim, worker, cost, SSK_ACT_BEGIN);
}

int ssk_create_child(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t clock = sim->now;
    int32_t child = sim->graph.child[sim->graph.child_ptr[w->task] + sim->tasks.next_child[w->task] - 1];
    int status = ssk_create(sim, child, worker, &clock);
    if (status != SSK_OK)
        return status;
    w->counters.spawn_ps += clock - sim->now;
    return ssk_pay(sim, worker, clock - sim->now, SSK_ACT_SPAWN);
}

int ssk_sync(ssk_sim_t *sim, int32_t worker)
{
    int32_t task = sim->workers[worker].task;
    if (sim->tasks.outstanding[task] > 0) {
        suspend(sim, worker, task);
        sim->workers[worker].task = SSK_NONE;
        return SSK_ACT_SEARCH;
    }
    if (!sim->tasks.has_joins || sim->graph.child_ptr[task] == sim->graph.child_ptr[task + 1])
        return SSK_ACT_END;
    sim->tasks.phase[task] = SSK_TASK_JOIN;
    return SSK_ACT_JOIN;
}

/* Makes successors ready in edge order; *clock is when the worker has paid for their pushes. */
static int release_successors(ssk_sim_t *sim, int32_t worker, int32_t task, int64_t *clock)
{
    const ssk_graph_t *graph = &sim->graph;
    for (int64_t edge = graph->succ_ptr[task]; edge < graph->succ_ptr[task + 1]; edge++) {
        int32_t successor = graph->succ[edge];
        if (--sim->tasks.pending[successor] > 0)
            continue;
        *clock = ssk_add_ps(*clock, sim->problem.costs.push_ps);
        int status = ssk_push(sim, successor, worker, false, clock);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

/* Tells the policy that a task has ended, and carries out what it decides. */
static int tell_on_finish(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_answer_t answer = {.group = SSK_NONE, .n_decisions = 0};
    if (sim->hooks.on_finish(sim->hooks.context, task, worker, &answer) < 0)
        return ssk_fail(sim, ssk_runtime_error(&sim->runtime));
    return ssk_answer(sim, &answer, SSK_ON_FINISH);
}

int ssk_end_task(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    ssk_tasks_t *tasks = &sim->tasks;
    int32_t task = w->task, parent = ssk_tasks_parent(tasks, task);
    int64_t clock = sim->now;
    int then = SSK_ACT_SEARCH;
    ssk_event(sim, SSK_TASK_END, worker, task, 0, 0);
    tasks->phase[task] = SSK_TASK_ENDED;
    tasks->executed_by[task] = worker;
    if (tasks->end_number != NULL)
        tasks->end_number[task] = tasks->n - tasks->n_left;
    tasks->n_left--;
    sim->counters.n_tasks++;
    ssk_note_progress(sim);
    w->counters.tasks++;
    w->task = SSK_NONE;
    if (parent >= 0)
        tasks->outstanding[parent]--;
    bool goes_on =
        parent >= 0 && tasks->outstanding[parent] == 0 && tasks->phase[parent] == SSK_TASK_SUSPENDED;
    sim->ending = goes_on ? SSK_NONE : worker;
    if (sim->n_duplicates > 0)
        ssk_end_duplicates(sim, task);
    if (sim->is_pooling) {
        int status = ssk_free_after(sim, task, worker);
        if (status != SSK_OK)
            return status;
    }
    int32_t place = ssk_vacate(sim, task);
    if (sim->hooks.on_finish != NULL) {
        int status = tell_on_finish(sim, task, worker);
        if (status != SSK_OK)
            return status;
    }
    if (place != SSK_NONE)
        ssk_offer(sim, place);
    ssk_release_domain(sim, task);
    if (sim->n_awaiting > 0)
        ssk_end_awaited(sim, task);
    if (tasks->has_successors) {
        int status = release_successors(sim, worker, task, &clock);
        if (status != SSK_OK)
            return status;
    }
    sim->ending = SSK_NONE;
    if (goes_on) {
        w->task = parent;
        then = SSK_ACT_BEGIN;
    }
    if (tasks->n_left == 0) {
        sim->last_worker = worker;
        ssk_end_iteration_if_done(sim);
    }
    w->counters.spawn_ps += clock - sim->now;
    return ssk_pay(sim, worker, clock - sim->now, then);
}

/*
 * The rule of StarPU's modular-heft: one sorted queue above short ones; the most urgent task goes down to the worker that
 * is expected to end it best, as long as that has room; see ModularHeft.
 */
#include "runtime/tree.h"

#include "run/sim.h"
#include "runtime/choices.h"

/* When a worker is expected to have done everything, not before now. */
static int64_t end_ps(ssk_sim_t *sim, int32_t worker)
{
    ssk_expected_t *expected = &sim->runtime.expected[worker];
    expected->start_ps = ssk_max(expected->start_ps, sim->now);
    return ssk_add_ps(ssk_add_ps(expected->start_ps, expected->length_ps), expected->queued_ps);
}

/* Lets the most urgent tasks go down until the queue of the best worker is full. */
static int go_down(ssk_sim_t *sim, int32_t released)
{
    ssk_runtime_t *runtime = &sim->runtime;
    while (runtime->above.n_tasks > 0) {
        int32_t task = runtime->above.levels[0].first;
        int64_t penalty = 0;
        int32_t worker = ssk_fittest(sim, task, released, end_ps, &penalty);
        ssk_expected_t *expected = &runtime->expected[worker];
        if (runtime->queues[worker].n_tasks >= sim->plan.runtime.most_queued)
            return SSK_OK;
        ssk_taskqueue_remove(&runtime->above, runtime->links, 0, task);
        int64_t late = ssk_max(0, ssk_add_ps(sim->now, penalty) - end_ps(sim, worker));
        runtime->tasks[task].late_ps = late;
        expected->queued_ps = ssk_add_ps(expected->queued_ps, ssk_add_ps(ssk_cost_ps(sim, task, worker), late));
        int status = ssk_taskqueue_push(&runtime->queues[worker], runtime->links, &sim->allocator, task,
                                        ssk_urgency(sim, task));
        if (status == SSK_OK)
            status = ssk_runtime_assign(sim, task, worker);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

static int enqueue(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    *owner_ret = SSK_NONE;
    int status = ssk_taskqueue_push(&runtime->above, runtime->links, &sim->allocator, task, ssk_urgency(sim, task));
    if (status != SSK_OK)
        return status;
    return go_down(sim, pusher >= 0 ? runtime->members[pusher].released : SSK_NONE);
}

static int choose(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_expected_t *expected = &runtime->expected[worker];
    expected->start_ps = sim->now;
    expected->length_ps = expected->pipeline_ps = 0;
    int status = runtime->queues[worker].n_tasks == 0 ? go_down(sim, SSK_NONE) : SSK_OK;
    if (status != SSK_OK)
        return status;
    int32_t task = *task_ret = ssk_pop_ready(sim, worker);
    if (task == SSK_NONE)
        return SSK_OK;
    int64_t length = ssk_cost_ps(sim, task, worker);
    expected->queued_ps = ssk_max(0, expected->queued_ps - length - runtime->tasks[task].late_ps);
    status = go_down(sim, SSK_NONE);
    runtime->tasks[task].late_ps = ssk_penalty_ps(sim, task, worker, SSK_NONE);
    expected->length_ps = length;
    expected->pipeline_ps = runtime->tasks[task].late_ps;
    expected->start_ps = ssk_add_ps(sim->now, expected->pipeline_ps);
    return status;
}

/* Counts the task's computation instead of its transfers. */
static void note_start(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_expected_t *expected = &sim->runtime.expected[worker];
    int64_t length = ssk_cost_ps(sim, task, worker);
    expected->length_ps -= length;
    expected->pipeline_ps = ssk_add_ps(expected->pipeline_ps, length - sim->runtime.tasks[task].late_ps);
    expected->start_ps = ssk_add_ps(sim->now, expected->pipeline_ps);
}

static void note_end(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_expected_t *expected = &sim->runtime.expected[worker];
    expected->pipeline_ps -= ssk_cost_ps(sim, task, worker);
    expected->start_ps = ssk_max(ssk_add_ps(sim->now, expected->pipeline_ps), expected->start_ps);
}

void ssk_tree(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_OWNER;
    steps->enqueue = enqueue;
    steps->choose = choose;
    steps->note_start = note_start;
    steps->note_end = note_end;
}

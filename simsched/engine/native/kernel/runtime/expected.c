/*
 * The rule of StarPU's dm family: a task goes to the worker that is expected to end it best; see DequeModel.
 */
#include "runtime/expected.h"

#include "run/sim.h"
#include "runtime/choices.h"

/* When a worker is expected to have ended what it has been given, not before now. */
static int64_t end_ps(ssk_sim_t *sim, int32_t worker)
{
    const ssk_expected_t *expected = &sim->runtime.expected[worker];
    return ssk_add_ps(ssk_max(expected->start_ps, sim->now), expected->length_ps);
}

static void decide(ssk_sim_t *sim, int32_t task, int32_t pusher)
{
    ssk_placed_t *placed = &sim->runtime.tasks[task];
    int32_t released = pusher >= 0 ? sim->runtime.members[pusher].released : SSK_NONE;
    placed->chosen = ssk_fittest(sim, task, released, end_ps, &placed->penalty_ps);
}

static int enqueue(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    (void)pusher;
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_placed_t *placed = &runtime->tasks[task];
    int32_t worker = *owner_ret = placed->chosen;
    ssk_expected_t *expected = &runtime->expected[worker];
    placed->length_ps = ssk_cost_ps(sim, task, worker);
    expected->start_ps = ssk_max(expected->start_ps, sim->now);
    placed->late_ps = ssk_max(0, ssk_add_ps(sim->now, placed->penalty_ps) - end_ps(sim, worker));
    expected->length_ps = ssk_add_ps(expected->length_ps, ssk_add_ps(placed->late_ps, placed->length_ps));
    return ssk_taskqueue_push(&runtime->queues[worker], runtime->links, &sim->allocator, task, ssk_urgency(sim, task));
}

static int choose(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_taskqueue_t *queue = &runtime->queues[worker];
    ssk_expected_t *expected = &runtime->expected[worker];
    expected->start_ps = ssk_max(expected->start_ps, sim->now);
    int32_t task = sim->plan.runtime.pops_ready ? ssk_pop_ready(sim, worker) : ssk_taskqueue_pop(queue, runtime->links, NULL, false);
    if (task == SSK_NONE)
        return SSK_OK;
    int64_t late = runtime->tasks[task].late_ps;
    expected->length_ps -= late;
    expected->pipeline_ps = ssk_add_ps(expected->pipeline_ps, late);
    expected->start_ps = ssk_add_ps(sim->now, expected->pipeline_ps);
    *task_ret = task;
    return SSK_OK;
}

/* Counts the task's computation instead of its transfers. */
static void note_start(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    const ssk_placed_t *placed = &sim->runtime.tasks[task];
    ssk_expected_t *expected = &sim->runtime.expected[worker];
    expected->length_ps -= placed->length_ps;
    expected->pipeline_ps = ssk_add_ps(expected->pipeline_ps, placed->length_ps - placed->late_ps);
    expected->start_ps = ssk_add_ps(sim->now, expected->pipeline_ps);
}

static void note_end(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_expected_t *expected = &sim->runtime.expected[worker];
    expected->pipeline_ps -= sim->runtime.tasks[task].length_ps;
    expected->start_ps = ssk_max(ssk_add_ps(sim->now, expected->pipeline_ps), expected->start_ps);
}

void ssk_expected_ends(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_OWNER;
    steps->decide = decide;
    steps->enqueue = enqueue;
    steps->choose = choose;
    steps->note_start = note_start;
    steps->note_end = note_end;
}

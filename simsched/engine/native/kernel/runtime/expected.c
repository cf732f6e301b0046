/*
 * The rule of StarPU's dm family: a task goes to the worker that is expected to end it best; see DequeModel.
 */
#include "run/sim.h"
#include "runtime/transfers.h"

/* When a worker is expected to have ended what it has been given, not before now. */
static int64_t end_ps(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_expected_t *expected = &sim->runtime.expected[worker];
    return ssk_add_ps(ssk_max(expected->start_ps, sim->now), expected->length_ps);
}

/* The member with the smallest fitness, of equal ones the first; every task has one that can execute it. */
static int32_t fittest(ssk_sim_t *sim, int32_t task, int32_t released)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_runtime_t *runtime = &sim->runtime;
    int64_t earliest = INT64_MAX;
    for (int32_t i = 0; i < sim->problem.n_nodes; i++)
        runtime->penalties[i] = SSK_NONE;
    for (int32_t i = 0; i < rule->n_members; i++) {
        int32_t worker = rule->members[i];
        int64_t entry = (int64_t)rule->row[worker] * sim->graph.n_tasks + task;
        int64_t *penalty = &runtime->penalties[rule->node[worker]];
        if (!rule->able[entry])
            continue;
        if (*penalty < 0)
            *penalty = rule->data_aware ? ssk_penalty_ps(sim, task, worker, released) : 0;
        int64_t begin = ssk_max(end_ps(sim, worker), ssk_add_ps(sim->now, *penalty));
        runtime->ends[i] = ssk_add_ps(begin, rule->cost_ps[entry]);
        earliest = ssk_min(earliest, runtime->ends[i]);
    }
    int32_t best = SSK_NONE;
    double least = 0.0;
    for (int32_t i = 0; i < rule->n_members; i++) {
        int32_t worker = rule->members[i];
        if (!ssk_able(sim, worker)[task])
            continue;
        double fitness = rule->alpha * (double)(runtime->ends[i] - earliest) +
                         rule->beta * (double)runtime->penalties[rule->node[worker]];
        if (best == SSK_NONE || fitness < least) {
            best = worker;
            least = fitness;
        }
    }
    return best;
}

static void decide(ssk_sim_t *sim, int32_t task, int32_t pusher)
{
    ssk_placed_t *placed = &sim->runtime.tasks[task];
    int32_t released = pusher >= 0 ? sim->runtime.members[pusher].released : SSK_NONE;
    placed->chosen = fittest(sim, task, released);
    placed->penalty_ps = sim->runtime.penalties[sim->plan.runtime.node[placed->chosen]];
}

static int enqueue(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    (void)pusher;
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_placed_t *placed = &runtime->tasks[task];
    int32_t worker = *owner_ret = placed->chosen;
    ssk_expected_t *expected = &runtime->expected[worker];
    placed->length_ps = rule->cost_ps[(int64_t)rule->row[worker] * sim->graph.n_tasks + task];
    expected->start_ps = ssk_max(expected->start_ps, sim->now);
    placed->late_ps = ssk_max(0, ssk_add_ps(sim->now, placed->penalty_ps) - end_ps(sim, worker));
    expected->length_ps = ssk_add_ps(expected->length_ps, ssk_add_ps(placed->late_ps, placed->length_ps));
    return ssk_taskqueue_push(&runtime->queues[worker], runtime->links, &sim->allocator, task, ssk_urgency(sim, task));
}

static bool is_less(const ssk_missing_t *a, const ssk_missing_t *b)
{
    if (a->absent != b->absent)
        return a->absent < b->absent;
    return a->unexpected < b->unexpected || (a->unexpected == b->unexpected && a->homeless < b->homeless);
}

/* Removes and returns the one of the most urgent tasks that lacks least on the worker's node, of several the first. */
static int32_t pop_ready(ssk_sim_t *sim, int32_t worker)
{
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_taskqueue_t *queue = &runtime->queues[worker];
    int32_t best = SSK_NONE;
    ssk_missing_t least = {0, 0, 0};
    for (int32_t task = queue->levels[0].first; task != SSK_NONE; task = runtime->links[task].next) {
        ssk_missing_t missing = ssk_missing_bytes(sim, task, sim->plan.runtime.node[worker]);
        if (best == SSK_NONE || is_less(&missing, &least)) {
            best = task;
            least = missing;
        }
        if (missing.absent == 0 && missing.unexpected == 0 && missing.homeless == 0)
            break;
    }
    ssk_taskqueue_remove(queue, runtime->links, 0, best);
    return best;
}

static int choose(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_taskqueue_t *queue = &runtime->queues[worker];
    ssk_expected_t *expected = &runtime->expected[worker];
    expected->start_ps = ssk_max(expected->start_ps, sim->now);
    int32_t task = sim->plan.runtime.pops_ready && queue->n_tasks > 1
                       ? pop_ready(sim, worker)
                       : ssk_taskqueue_pop(queue, runtime->links, NULL, false);
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

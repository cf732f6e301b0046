#include "runtime/choices.h"

#include "run/sim.h"

int64_t ssk_cost_ps(const ssk_sim_t *sim, int32_t task, int32_t worker)
{
    return sim->plan.runtime.cost_ps[(int64_t)sim->plan.runtime.row[worker] * sim->graph.n_tasks + task];
}

int32_t ssk_fittest(ssk_sim_t *sim, int32_t task, int32_t released, int64_t (*end_ps)(ssk_sim_t *sim, int32_t worker),
                    int64_t *penalty_ret)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_runtime_t *runtime = &sim->runtime;
    int64_t earliest = INT64_MAX;
    for (int32_t i = 0; i < sim->problem.n_nodes; i++)
        runtime->penalties[i] = SSK_NONE;
    for (int32_t i = 0; i < rule->n_members; i++) {
        int32_t worker = rule->members[i];
        int64_t *penalty = &runtime->penalties[rule->node[worker]];
        runtime->ends[i] = SSK_NONE;
        if (!ssk_able(sim, worker)[task])
            continue;
        if (*penalty < 0)
            *penalty = rule->data_aware ? ssk_penalty_ps(sim, task, worker, released) : 0;
        int64_t begin = ssk_max(end_ps(sim, worker), ssk_add_ps(sim->now, *penalty));
        runtime->ends[i] = ssk_add_ps(begin, ssk_cost_ps(sim, task, worker));
        earliest = ssk_min(earliest, runtime->ends[i]);
    }
    int32_t best = SSK_NONE;
    double least = 0.0;
    for (int32_t i = 0; i < rule->n_members; i++) {
        int32_t worker = rule->members[i];
        if (runtime->ends[i] < 0)
            continue;
        double fitness = rule->alpha * (double)(runtime->ends[i] - earliest) +
                         rule->beta * (double)runtime->penalties[rule->node[worker]];
        if (best == SSK_NONE || fitness < least) {
            best = worker;
            least = fitness;
        }
    }
    *penalty_ret = runtime->penalties[rule->node[best]];
    return best;
}

static bool is_less(const ssk_missing_t *a, const ssk_missing_t *b)
{
    if (a->absent != b->absent)
        return a->absent < b->absent;
    return a->unexpected < b->unexpected || (a->unexpected == b->unexpected && a->homeless < b->homeless);
}

int32_t ssk_pop_ready(ssk_sim_t *sim, int32_t worker)
{
    ssk_runtime_t *runtime = &sim->runtime;
    ssk_taskqueue_t *queue = &runtime->queues[worker];
    int32_t best = SSK_NONE;
    ssk_missing_t least = {0, 0, 0};
    if (queue->n_tasks <= 1)
        return ssk_taskqueue_pop(queue, runtime->links, NULL, false);
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

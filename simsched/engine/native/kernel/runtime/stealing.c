/* The rule of StarPU's ws and lws: a task stays with who has made it ready, thieves look for others; see QueueStealing. */
#include "runtime/stealing.h"

#include "run/sim.h"

static int enqueue(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_runtime_t *runtime = &sim->runtime;
    if (pusher == SSK_NONE || !ssk_able(sim, pusher)[task]) {
        do
            runtime->last_pushed = (runtime->last_pushed + 1) % rule->n_members;
        while (!ssk_able(sim, rule->members[runtime->last_pushed])[task]);
        pusher = rule->members[runtime->last_pushed];
    }
    *owner_ret = pusher;
    runtime->n_queued++;
    return ssk_taskqueue_push(&runtime->queues[pusher], runtime->links, &sim->allocator, task, ssk_urgency(sim, task));
}

/* The worker to steal from: the first that has tasks and got one when it asked last, or SSK_NONE. */
static int32_t find_victim(ssk_sim_t *sim, int32_t thief)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_runtime_t *runtime = &sim->runtime;
    const int32_t *victims = rule->victims + (int64_t)thief * rule->n_members;
    int32_t *next = &runtime->members[thief].next_victim, place = *next;
    for (int32_t step = 0; runtime->n_queued > 0 && step < rule->n_members; step++) {
        int32_t other = victims[place];
        place = place + 1 == rule->n_members ? 0 : place + 1;
        if (!runtime->members[other].is_busy || runtime->queues[other].n_tasks == 0)
            continue;
        if (rule->in_turn)
            *next = place;
        return other;
    }
    if (rule->in_turn)
        *next = *next + 1 == rule->n_members ? 0 : *next + 1;
    return SSK_NONE;
}

static int choose(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    const uint8_t *able = ssk_able(sim, worker);
    runtime->members[worker].is_busy = false;
    int32_t task = ssk_taskqueue_pop(&runtime->queues[worker], runtime->links, able, false);
    if (task == SSK_NONE) {
        int32_t victim = find_victim(sim, worker);
        if (victim != SSK_NONE)
            task = ssk_taskqueue_pop(&runtime->queues[victim], runtime->links, able, true);
        runtime->has_stolen = task != SSK_NONE;
    }
    runtime->n_queued -= task != SSK_NONE;
    runtime->members[worker].is_busy = task != SSK_NONE;
    *task_ret = task;
    return SSK_OK;
}

void ssk_stealing(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_ALL;
    steps->enqueue = enqueue;
    steps->choose = choose;
}

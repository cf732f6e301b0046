/* Rules without a model of costs and without stealing: one queue for all, and a queue for each of workers that are drawn. */
#include "runtime/central.h"

#include "run/sim.h"

/* ------------------------------------------------------------------------------------------- central */

static int enqueue_for_all(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    (void)pusher;
    *owner_ret = sim->plan.runtime.members[0];
    return ssk_taskqueue_push(&sim->runtime.above, sim->runtime.links, &sim->allocator, task, ssk_urgency(sim, task));
}

static int choose_first(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    *task_ret = ssk_taskqueue_pop(&sim->runtime.above, sim->runtime.links, ssk_able(sim, worker), false);
    return SSK_OK;
}

void ssk_central(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_FIRST;
    steps->enqueue = enqueue_for_all;
    steps->choose = choose_first;
}

/* ------------------------------------------------------------------------------------------- drawn */

static int enqueue_drawn(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    double total = 0.0;
    (void)pusher;
    for (int32_t i = 0; i < rule->n_members; i++)
        if (ssk_able(sim, rule->members[i])[task])
            total += rule->weight[rule->members[i]];
    double left = (double)(rule->draws.next64(rule->draws.state) >> 11) * 0x1p-53 * total;
    for (int32_t i = 0; i < rule->n_members; i++) {
        if (!ssk_able(sim, rule->members[i])[task])
            continue;
        *owner_ret = rule->members[i];
        if (rule->weight[*owner_ret] >= left)
            break;
        left -= rule->weight[*owner_ret];
    }
    return ssk_taskqueue_push(&sim->runtime.queues[*owner_ret], sim->runtime.links, &sim->allocator, task, 0);
}

static int choose_own(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    *task_ret = ssk_taskqueue_pop(&sim->runtime.queues[worker], sim->runtime.links, NULL, false);
    return SSK_OK;
}

void ssk_drawn(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_OWNER;
    steps->enqueue = enqueue_drawn;
    steps->choose = choose_own;
}

#include "runtime/runtime.h"

#include "heap.h"
#include "run/sim.h"
#include "runtime/central.h"
#include "runtime/expected.h"
#include "runtime/stealing.h"
#include "runtime/tree.h"

enum { PUSH_DONE = SSK_NONE }; /* tag of the wake when a task has been pushed; else it is the worker that asks */

const uint8_t *ssk_able(const ssk_sim_t *sim, int32_t worker)
{
    return sim->plan.runtime.able + (int64_t)sim->plan.runtime.row[worker] * sim->graph.n_tasks;
}

int32_t ssk_urgency(const ssk_sim_t *sim, int32_t task)
{
    return sim->plan.runtime.by_priority && sim->graph.priority != NULL ? sim->graph.priority[task] : 0;
}

/* ------------------------------------------------------------------------------------------- answers */

static ssk_decision_t wake(int64_t at_ps, int64_t tag, int32_t rank)
{
    ssk_decision_t decision = {{0}};
    decision.wake.kind = SSK_DECIDE_WAKE;
    decision.wake.at_ps = at_ps;
    decision.wake.tag = tag;
    decision.wake.rank = rank;
    return decision;
}

/* Adds a decision to the answer of on_wake. */
static int answer(ssk_sim_t *sim, ssk_decision_t decision)
{
    ssk_runtime_t *runtime = &sim->runtime;
    int status = ssk_grow(&sim->allocator, &runtime->decisions, &runtime->decisions_capacity, runtime->n_decisions + 1,
                          sizeof(*runtime->decisions));
    if (status == SSK_OK)
        runtime->decisions[runtime->n_decisions++] = decision;
    return status;
}

/* Moves a task to another pool, where it is after a delay; `thief` takes it from another worker, or is SSK_NONE. */
static int move(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker, int64_t delay_ps, int32_t thief)
{
    ssk_placed_t *placed = &sim->runtime.tasks[task];
    ssk_decision_t decision = {{0}};
    decision.transfer.kind = SSK_DECIDE_TRANSFER;
    decision.transfer.group = placed->group;
    decision.transfer.instance = placed->instance;
    decision.transfer.to_group = group;
    decision.transfer.to_instance = worker;
    decision.transfer.count = 1;
    decision.transfer.delay_ps = delay_ps;
    decision.transfer.take = SSK_OLDEST;
    decision.transfer.task = task;
    decision.transfer.thief = thief;
    placed->group = group;
    placed->instance = worker;
    return answer(sim, decision);
}

/* ------------------------------------------------------------------------------------------- coming round */

/* When a worker has pushed what it has made ready. */
static int64_t pushed_ps(ssk_sim_t *sim, int32_t worker)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_member_t *member = &sim->runtime.members[worker];
    int64_t pushing = ssk_times_ps(member->n_pushing, rule->push_ps);
    int64_t releasing = ssk_times_ps(member->n_releasing, rule->release_ps);
    member->n_pushing = member->n_releasing = 0;
    return ssk_add_ps(sim->now, ssk_add_ps(pushing, releasing));
}

/* Lets a worker look after copies from a time on, and then ask for a task; returns whether it is to be woken for that. */
static bool come_round(ssk_sim_t *sim, int32_t worker, int64_t from_ps, int32_t rank, ssk_decision_t *wake_ret)
{
    ssk_member_t *member = &sim->runtime.members[worker];
    if (member->is_coming)
        return false;
    member->is_coming = true;
    member->is_called = false;
    member->rank = rank;
    int64_t n_memories = sim->plan.runtime.is_device[worker] ? 2 : 1;
    int64_t at_ps = ssk_add_ps(from_ps, ssk_times_ps(n_memories, sim->plan.runtime.look_ps));
    /* What takes no time comes in turn: a worker's own push before it asks. */
    *wake_ret = wake(at_ps, worker, at_ps > sim->now ? rank : SSK_RANK_IN_TURN);
    return true;
}

/* The same as part of the answer of on_wake. */
static int come_again(ssk_sim_t *sim, int32_t worker, int32_t rank)
{
    ssk_decision_t decision;
    return come_round(sim, worker, sim->now, rank, &decision) ? answer(sim, decision) : SSK_OK;
}

/* Lets a worker come round if it sleeps, or once more if it is about to ask. */
static int call(ssk_sim_t *sim, int32_t worker)
{
    ssk_member_t *member = &sim->runtime.members[worker];
    if (member->is_coming)
        member->is_called = true;
    else if (member->is_waiting)
        return come_again(sim, worker, SSK_RANK_IN_TURN);
    return SSK_OK;
}

/* Calls the first device that sleeps and can execute a task, otherwise all cores that can. */
static int call_first(ssk_sim_t *sim, int32_t task)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    int32_t i = 0;
    for (; i < rule->n_members && rule->is_device[rule->members[i]]; i++) {
        int32_t worker = rule->members[i];
        const ssk_member_t *member = &sim->runtime.members[worker];
        if (member->is_waiting && !member->is_coming && ssk_able(sim, worker)[task])
            return call(sim, worker);
    }
    int status = SSK_OK;
    for (; status == SSK_OK && i < rule->n_members; i++)
        if (ssk_able(sim, rule->members[i])[task])
            status = call(sim, rule->members[i]);
    return status;
}

/* Calls those to whom the push of a task into a worker's queue is announced. */
static int announce(ssk_sim_t *sim, int32_t task, int32_t owner)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    int status = SSK_OK;
    switch (sim->runtime.steps.announces) {
    case SSK_CALL_OWNER: return call(sim, owner);
    case SSK_CALL_FIRST: return call_first(sim, task);
    default:
        for (int32_t i = 0; status == SSK_OK && i < rule->n_members; i++)
            status = call(sim, rule->members[i]);
        return status;
    }
}

/* ------------------------------------------------------------------------------------------- pushes */

static bool is_before(const ssk_pushing_t *a, const ssk_pushing_t *b)
{
    return a->at_ps < b->at_ps || (a->at_ps == b->at_ps && a->number < b->number);
}

/* Notes a push by a worker, SSK_NONE for the program; *at_ret is when it is done. */
static int note_push(ssk_sim_t *sim, int32_t task, int32_t pusher, int64_t *at_ret)
{
    ssk_runtime_t *runtime = &sim->runtime;
    int64_t n_pushing;
    if (pusher >= 0) {
        n_pushing = ++runtime->members[pusher].n_pushing;
    } else {
        runtime->program_pushes = runtime->program_ps == sim->now ? runtime->program_pushes + 1 : 1;
        runtime->program_ps = sim->now;
        n_pushing = runtime->program_pushes;
    }
    int status = ssk_grow(&sim->allocator, &runtime->pushes, &runtime->pushes_capacity, runtime->n_pushes + 1,
                          sizeof(*runtime->pushes));
    if (status != SSK_OK)
        return status;
    *at_ret = ssk_add_ps(sim->now, ssk_times_ps(n_pushing, sim->plan.runtime.push_ps));
    ssk_pushing_t pushing = {*at_ret, runtime->n_pushed++, task, pusher};
    SSK_HEAP_ADD(runtime->pushes, runtime->n_pushes, pushing, is_before);
    runtime->tasks[task].group = SSK_POOL_PUSHED;
    runtime->tasks[task].instance = sim->plan.runtime.members[0];
    return SSK_OK;
}

int ssk_runtime_claim(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    return move(sim, task, SSK_POOL_CLAIMED, worker, 0, SSK_NONE);
}

int ssk_runtime_assign(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_runtime_t *runtime = &sim->runtime;
    int status = ssk_grow(&sim->allocator, &runtime->assigned, &runtime->assigned_capacity, runtime->n_assigned + 1,
                          sizeof(*runtime->assigned));
    if (status == SSK_OK)
        runtime->assigned[runtime->n_assigned++] = (ssk_assigned_t){task, worker};
    return status;
}

/* Moves tasks to the queues that they have come into, all but `given`, and calls the workers of these. */
static int announce_assigned(ssk_sim_t *sim, int32_t given)
{
    ssk_runtime_t *runtime = &sim->runtime;
    int status = SSK_OK;
    for (size_t i = 0; status == SSK_OK && i < runtime->n_assigned; i++) {
        ssk_assigned_t assigned = runtime->assigned[i];
        if (assigned.task == given)
            continue;
        status = move(sim, assigned.task, SSK_POOL_QUEUED, assigned.worker, 0, SSK_NONE);
        if (status == SSK_OK)
            status = call(sim, assigned.worker);
    }
    runtime->n_assigned = 0;
    return status;
}

/* Queues a task that has been pushed, and calls whom this is announced to. */
static int queue(ssk_sim_t *sim, int32_t task, int32_t pusher)
{
    int32_t owner = SSK_NONE;
    int status = sim->runtime.steps.enqueue(sim, task, pusher, &owner);
    if (status == SSK_OK && owner == SSK_NONE)
        return announce_assigned(sim, SSK_NONE);
    if (status == SSK_OK)
        status = move(sim, task, SSK_POOL_QUEUED, owner, 0, SSK_NONE);
    return status == SSK_OK ? announce(sim, task, owner) : status;
}

/* Tells whether one of some pushes is by a worker. */
static bool is_among(const ssk_pushing_t *pushed, size_t n, int32_t pusher)
{
    for (size_t i = 0; i < n; i++)
        if (pushed[i].pusher == pusher)
            return true;
    return false;
}

/*
 * Queues what different workers have pushed by now, one task of each at most: decisions about them are made before any
 * of them is queued.
 */
static int queue_together(ssk_sim_t *sim)
{
    ssk_runtime_t *runtime = &sim->runtime;
    size_t n = 0;
    int status = SSK_OK;
    while (runtime->n_pushes > 0 && runtime->pushes[0].at_ps <= sim->now &&
           !is_among(runtime->together, n, runtime->pushes[0].pusher)) {
        runtime->together[n++] = runtime->pushes[0];
        SSK_HEAP_DROP(runtime->pushes, runtime->n_pushes, is_before);
    }
    for (size_t i = 0; runtime->steps.decide != NULL && i < n; i++)
        runtime->steps.decide(sim, runtime->together[i].task, runtime->together[i].pusher);
    for (size_t i = 0; status == SSK_OK && i < n; i++)
        status = queue(sim, runtime->together[i].task, runtime->together[i].pusher);
    return status;
}

/* ------------------------------------------------------------------------------------------- asking */

/* Gives a worker a task whose data it then asks for. */
static int give(ssk_sim_t *sim, int32_t worker, int32_t task)
{
    ssk_runtime_t *runtime = &sim->runtime;
    int64_t n_accesses = sim->graph.join_access[task] - sim->graph.access_ptr[task];
    int32_t thief = runtime->has_stolen ? worker : SSK_NONE;
    runtime->members[worker].is_waiting = false;
    runtime->members[worker].held++;
    runtime->has_stolen = false;
    return move(sim, task, SSK_POOL_OWN, worker, ssk_times_ps(n_accesses, sim->plan.runtime.fetch_ps), thief);
}

/*
 * Lets a worker ask for a task; without one it sleeps unless it has been called. What drives a device also prepares its
 * copies, and asks afterwards.
 */
static int ask(ssk_sim_t *sim, int32_t worker)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_member_t *member = &sim->runtime.members[worker];
    int64_t until_ps = ssk_sim_driver_until_ps(sim, rule->node[worker]);
    if (until_ps > sim->now)
        return answer(sim, wake(until_ps, worker, member->rank));
    member->is_coming = false;
    if (member->held >= (rule->is_device[worker] ? rule->pipeline : 1))
        return SSK_OK;
    int32_t task = SSK_NONE;
    int status = sim->runtime.steps.choose(sim, worker, &task);
    if (status == SSK_OK && task != SSK_NONE)
        status = give(sim, worker, task);
    if (status == SSK_OK)
        status = announce_assigned(sim, task);
    if (status != SSK_OK || task != SSK_NONE)
        return status;
    if (!member->is_called) {
        member->is_waiting = true;
        return SSK_OK;
    }
    int32_t rank = member->rank;
    if (rank == SSK_RANK_CORE_FIRST)
        rank = SSK_RANK_CORE_AGAIN;
    else if (rank == SSK_RANK_DEVICE_LAST)
        rank = SSK_RANK_DEVICE_AGAIN;
    return come_again(sim, worker, rank);
}

/* ------------------------------------------------------------------------------------------- hooks */

/* What a hook returns: 0, or -1 when there is no memory. */
static int told(ssk_sim_t *sim, int status)
{
    sim->runtime.has_no_memory = status != SSK_OK;
    return status == SSK_OK ? 0 : -1;
}

static int on_ready(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret)
{
    ssk_sim_t *sim = context;
    int64_t at_ps = 0;
    int status = note_push(sim, task, worker, &at_ps);
    sim->runtime.ready = wake(at_ps, PUSH_DONE, SSK_RANK_IN_TURN);
    answer_ret->group = SSK_POOL_PUSHED;
    answer_ret->instance = sim->plan.runtime.members[0];
    answer_ret->decisions = &sim->runtime.ready;
    answer_ret->n_decisions = 1;
    return told(sim, status);
}

static int on_start(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret)
{
    ssk_sim_t *sim = context;
    const ssk_rule_t *rule = &sim->plan.runtime;
    if (sim->runtime.steps.note_start != NULL)
        sim->runtime.steps.note_start(sim, task, worker);
    if (!rule->is_device[worker] || sim->runtime.members[worker].held >= rule->pipeline)
        return 0;
    if (sim->graph.synchronous != NULL && sim->graph.synchronous[task])
        return 0;
    if (come_round(sim, worker, pushed_ps(sim, worker), SSK_RANK_IN_TURN, &sim->runtime.started)) {
        answer_ret->decisions = &sim->runtime.started;
        answer_ret->n_decisions = 1;
    }
    return 0;
}

static int on_idle(void *context, int32_t worker, ssk_decision_t *decision_ret)
{
    ssk_sim_t *sim = context;
    const ssk_member_t *member = &sim->runtime.members[worker];
    if (member->held > 0 || member->is_waiting || member->is_coming)
        return 0;
    /* A core comes before those that its last push calls, a device after them. */
    int64_t at_ps = pushed_ps(sim, worker);
    int32_t rank = at_ps > sim->now ? SSK_RANK_CORE_AGAIN : SSK_RANK_CORE_FIRST;
    if (sim->plan.runtime.is_device[worker])
        rank = SSK_RANK_DEVICE_LAST;
    return come_round(sim, worker, at_ps, rank, decision_ret);
}

static int on_wake(void *context, int64_t tag, ssk_answer_t *answer_ret)
{
    ssk_sim_t *sim = context;
    ssk_runtime_t *runtime = &sim->runtime;
    int status = SSK_OK;
    runtime->n_decisions = 0;
    if (tag != PUSH_DONE)
        status = ask(sim, (int32_t)tag);
    while (tag == PUSH_DONE && status == SSK_OK && runtime->n_pushes > 0 && runtime->pushes[0].at_ps <= sim->now)
        status = queue_together(sim);
    answer_ret->decisions = runtime->decisions;
    answer_ret->n_decisions = (int32_t)runtime->n_decisions;
    return told(sim, status);
}

/* Notes what a worker's task has written for the last time. */
static void release(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    const ssk_graph_t *graph = &sim->graph;
    ssk_member_t *member = &sim->runtime.members[worker];
    if (graph->access_final == NULL)
        return;
    member->released = task;
    member->n_releasing = 0;
    sim->runtime.n_seen++;
    for (int64_t i = graph->access_ptr[task]; i < graph->join_access[task]; i++)
        if (graph->access_final[i] && ssk_is_unseen(&sim->runtime, graph->access_block[i]))
            member->n_releasing++;
}

static int on_finish(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret)
{
    ssk_sim_t *sim = context;
    ssk_member_t *member = &sim->runtime.members[worker];
    (void)answer_ret;
    member->held--;
    member->n_pushing = 0;
    release(sim, task, worker);
    member->is_waiting = false;
    if (sim->runtime.steps.note_end != NULL)
        sim->runtime.steps.note_end(sim, task, worker);
    return 0;
}

/* ------------------------------------------------------------------------------------------- life */

static void free_state(ssk_sim_t *sim)
{
    ssk_runtime_t *self = &sim->runtime;
    if (self->steps.close != NULL)
        self->steps.close(sim);
    for (int32_t i = 0; self->queues != NULL && i < self->n_workers; i++)
        ssk_delete(&sim->allocator, self->queues[i].levels);
    ssk_delete(&sim->allocator, self->queues);
    ssk_delete(&sim->allocator, self->above.levels);
    memset(&self->steps, 0, sizeof(self->steps));
    memset(&self->above, 0, sizeof(self->above));
    self->queues = NULL;
    self->n_workers = self->last_pushed = 0;
    self->n_seen = self->n_queued = 0;
}

void ssk_runtime_free(ssk_sim_t *sim)
{
    ssk_runtime_t *self = &sim->runtime;
    void *const blocks[] = {
        self->members, self->tasks, self->pushes, self->together, self->decisions, self->links, self->assigned,
        self->expected, self->ends, self->penalties, self->seen,
    };
    free_state(sim);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        ssk_delete(&sim->allocator, blocks[i]);
    memset(self, 0, sizeof(*self));
}

static void set_steps(ssk_steps_t *steps, int32_t rule)
{
    switch (rule) {
    case SSK_RULE_EXPECTED_ENDS: ssk_expected_ends(steps); break;
    case SSK_RULE_TREE: ssk_tree(steps); break;
    case SSK_RULE_CENTRAL: ssk_central(steps); break;
    case SSK_RULE_DRAWN: ssk_drawn(steps); break;
    case SSK_RULE_STEALING: ssk_stealing(steps); break;
    default: ssk_by_buckets(steps);
    }
}

/* Makes the state for a plan that is new. */
static int open_state(ssk_sim_t *sim)
{
    ssk_runtime_t *self = &sim->runtime;
    const ssk_allocator_t *allocator = &sim->allocator;
    size_t n_workers = (size_t)sim->problem.n_workers, n_tasks = (size_t)sim->graph.n_tasks;
    free_state(sim);
    int status = ssk_renew(allocator, &self->members, n_workers, sizeof(*self->members));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->tasks, n_tasks, sizeof(*self->tasks));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->together, n_workers + 1, sizeof(*self->together));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->links, n_tasks, sizeof(*self->links));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->expected, n_workers, sizeof(*self->expected));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->ends, (size_t)sim->plan.runtime.n_members, sizeof(*self->ends));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->penalties, (size_t)sim->problem.n_nodes, sizeof(*self->penalties));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->seen, (size_t)sim->problem.n_blocks, sizeof(*self->seen));
    if (status == SSK_OK)
        self->queues = ssk_new(allocator, n_workers, sizeof(*self->queues));
    if (status != SSK_OK || self->queues == NULL)
        return SSK_ERR_MEMORY;
    self->n_workers = sim->problem.n_workers;
    for (size_t i = 0; i < n_workers; i++)
        self->members[i].released = SSK_NONE;
    set_steps(&self->steps, sim->plan.runtime.rule);
    return self->steps.open != NULL ? self->steps.open(sim) : SSK_OK;
}

int ssk_runtime_begin(ssk_sim_t *sim)
{
    ssk_runtime_t *self = &sim->runtime;
    const ssk_rule_t *rule = &sim->plan.runtime;
    bool is_known = self->is_active && sim->plan.unchanged && self->n_tasks == sim->graph.n_tasks &&
                    self->n_members == rule->n_members;
    self->is_active = false;
    sim->hooks = sim->policy_hooks;
    if (rule->n_members == 0)
        return SSK_OK;
    int status = is_known ? SSK_OK : open_state(sim);
    if (status != SSK_OK)
        return status;
    self->is_active = true;
    self->n_tasks = sim->graph.n_tasks;
    self->n_members = rule->n_members;
    self->n_pushes = self->n_assigned = 0;
    self->has_stolen = false;
    for (int32_t i = 0; i < self->n_workers; i++) {
        ssk_member_t *member = &self->members[i];
        member->is_waiting = member->is_coming = member->is_called = false;
        member->n_pushing = member->n_releasing = 0;
    }
    for (int32_t i = 0; i < rule->n_members; i++)
        self->members[rule->members[i]].is_waiting = true;
    const ssk_hooks_t hooks = {
        .context = sim, .on_ready = on_ready, .on_start = on_start, .on_idle = on_idle, .on_finish = on_finish,
        .on_wake = on_wake,
    };
    sim->hooks = hooks;
    return SSK_OK;
}

int ssk_runtime_verify(const ssk_runtime_t *self)
{
    for (int32_t i = 0; self->is_active && i < self->n_workers; i++) {
        if (self->members[i].held < 0 || ssk_taskqueue_verify(&self->queues[i], self->links) != SSK_OK)
            return SSK_ERR_INVARIANT;
    }
    for (size_t i = 1; i < self->n_pushes; i++)
        if (!is_before(&self->pushes[(i - 1) / 2], &self->pushes[i]))
            return SSK_ERR_INVARIANT;
    return SSK_OK;
}

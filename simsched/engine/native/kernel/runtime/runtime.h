/*
 * A task runtime that keeps ready tasks in queues of its own and feeds workers from them: what the hooks of
 * simsched.policy.parts.runtime_queues say in Python, executed here for plans that have a rule.
 *
 * Ready tasks enter a pool from which no worker takes. The runtime wakes up when a task has been pushed or a worker has
 * come round, and answers with transfers to the pools of workers, as a hook of a policy does. What differs from one rule
 * to another is a table of functions: who gets a task that has been pushed, and which task one who asks takes.
 *
 * State outlives the iteration while the plan stays the same: what rules have learned, when workers are expected to end.
 */
#ifndef SSK_RUNTIME_H
#define SSK_RUNTIME_H

#include "base.h"
#include "runtime/buckets.h"
#include "runtime/steps.h"
#include "runtime/taskqueue.h"

/* A worker as the runtime knows it. */
typedef struct {
    bool is_waiting, is_coming, is_called; /* sleeps; has been told to come round; is to come once more */
    int32_t rank;                          /* of its coming round */
    int32_t held;                          /* tasks that it has been given and not ended */
    int32_t n_pushing, n_releasing;        /* what its last task has made ready, and written for the last time */
    int32_t released;                      /* the task that has written that, or SSK_NONE */
    bool is_busy;                          /* got a task when it asked last */
    int32_t next_victim;                   /* place in its list of victims at which it begins to look */
} ssk_member_t;

/* A push on its way; earlier ones first, at one time in their order. */
typedef struct {
    int64_t at_ps, number;
    int32_t task, pusher;
} ssk_pushing_t;

/* When a worker is expected to have done what it has: see DequeModel and, with what is queued, ModularHeft. */
typedef struct {
    int64_t start_ps, length_ps, pipeline_ps, queued_ps;
} ssk_expected_t;

/* Where a task is, and what was expected of it when it was queued. */
typedef struct {
    int32_t group, instance;
    int32_t chosen;      /* worker that is to get it while it is being pushed */
    int64_t penalty_ps;  /* of the copies that it needs there */
    int64_t length_ps, late_ps; /* its time, and what is left of its transfers when it could begin */
} ssk_placed_t;

typedef struct {
    int32_t task, worker;
} ssk_assigned_t;

typedef struct {
    bool is_active;
    ssk_steps_t steps; /* of the rule */
    int32_t n_workers, n_tasks, n_members; /* of what there is state for; 0 while there is none */
    ssk_member_t *members; /* per worker */
    ssk_placed_t *tasks;   /* per task */
    ssk_pushing_t *pushes; /* heap */
    size_t n_pushes, pushes_capacity;
    int64_t n_pushed;
    int64_t program_ps; /* when the program has pushed last, and how much of that time */
    int32_t program_pushes;
    ssk_pushing_t *together; /* working space: what is queued at once, of each worker and the program */
    bool has_stolen; /* the task that is chosen comes from another worker's queue */
    ssk_decision_t ready, started; /* answers of hooks with one decision */
    ssk_decision_t *decisions;     /* answer of on_wake */
    size_t n_decisions, decisions_capacity;
    ssk_taskqueue_t *queues; /* per worker */
    ssk_taskqueue_t above;   /* of all workers */
    ssk_link_t *links;       /* per task */
    ssk_assigned_t *assigned; /* tasks that have come into the queue of a worker, which is to be called */
    size_t n_assigned, assigned_capacity;
    int64_t n_queued;        /* tasks in the queues of workers, of rules by which workers steal */
    int32_t last_pushed;     /* place of the member that got the last task of nobody */
    ssk_buckets_t buckets;
    ssk_expected_t *expected; /* per worker */
    int64_t *ends, *penalties; /* working space of a choice: per member, per node */
    int64_t *seen, n_seen;     /* per block: the last count of blocks that it was in */
    bool has_no_memory;        /* why a hook has failed */
} ssk_runtime_t;

/* Tells whether a block is met for the first time since `n_seen` was last counted up. */
static inline bool ssk_is_unseen(ssk_runtime_t *self, int32_t block)
{
    bool unseen = self->seen[block] != self->n_seen;
    self->seen[block] = self->n_seen;
    return unseen;
}

void ssk_runtime_free(ssk_sim_t *sim);
int ssk_runtime_verify(const ssk_runtime_t *self) SSK_CHECK_RESULT;

/* Why a hook has failed: the runtime's for want of memory. */
static inline int ssk_runtime_error(const ssk_runtime_t *self)
{
    return self->has_no_memory ? SSK_ERR_MEMORY : SSK_ERR_HOOK;
}

/* Lets an iteration begin whose plan stands in `sim`: with a runtime its hooks take the place of the policy's. */
int ssk_runtime_begin(ssk_sim_t *sim) SSK_CHECK_RESULT;

/* Tasks that a worker can execute, by task. */
const uint8_t *ssk_able(const ssk_sim_t *sim, int32_t worker);

/* Lets the data of a task that a worker has taken ahead be fetched for it. */
int ssk_runtime_claim(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;

/* Notes that a task has come into the queue of a worker, which will be called. */
int ssk_runtime_assign(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;

/* What the program says about the urgency of a task, as far as the runtime is told. */
int32_t ssk_urgency(const ssk_sim_t *sim, int32_t task);

#endif

/*
 * Task states of one iteration, one entry per task in each array.
 *
 * Memory per task: 17 bytes, plus 4 when tasks have parents, plus 4 when some pool group marks domains as active, plus
 * 4 when accesses wait for tasks, plus 4 once a task has been preempted.
 */
#ifndef SSK_TASKS_H
#define SSK_TASKS_H

#include "base.h"

/* Life of a task. A continuation in a pool is in SPAWNING; a suspended task waits for its children. */
enum {
    SSK_TASK_NEW = 0,
    SSK_TASK_BODY = 1,
    SSK_TASK_SPAWNING = 2,
    SSK_TASK_SUSPENDED = 3,
    SSK_TASK_JOIN = 4,
    SSK_TASK_ENDED = 5
};

/* Parent of a task that its creator does not wait for. */
#define SSK_DETACHED (-2)
/* What `marked` says of a task that a domain expects: it has not been ready yet. */
#define SSK_EXPECTED (-2)

/* Ways of a flow: bytes read (and written, where these have no path of their own), memory-side hits, bytes written. */
enum { SSK_WAY_READ = 0, SSK_WAY_HIT = 1, SSK_WAY_WRITE = 2, SSK_N_WAYS = 3 };

/* A preempted segment and the accesses that follow it. */
typedef struct {
    double ops_left;
    int64_t tail;
    int64_t access, access_end, n_accesses; /* the next place, the end, the number of the whole body or join */
    int64_t executed;                       /* the access that it belongs to */
    int64_t total_bytes;
    double ops;
    int64_t flow_bytes[SSK_N_WAYS];
    int32_t node, next_free;
    uint8_t n_flows, flow_way[SSK_N_WAYS];
} ssk_saved_t;

typedef struct {
    const ssk_graph_t *graph;
    int32_t n;
    int32_t n_left;        /* tasks that have not ended */
    int32_t *pending;      /* unfinished predecessors, tasks whose creation is waited for, 1 until created */
    int32_t *outstanding;  /* joined children that have not ended */
    int32_t *next_child;   /* number of children that have been spawned */
    int32_t *parent;       /* who waits for the task, or SSK_DETACHED; NULL when no task has a parent */
    int32_t *executed_by;
    uint8_t *phase;
    int32_t *marked;       /* domain that the task keeps active, -1 or SSK_EXPECTED; NULL when no pool group marks */
    int32_t *end_number;   /* place in the order of the ends, -1; NULL unless accesses wait for tasks */
    int32_t *saved_of;     /* entry in saved, -1; NULL until a task is preempted */
    ssk_saved_t *saved;
    int32_t n_saved, free_saved;
    size_t saved_capacity;
    size_t capacity, parent_capacity, marked_capacity, end_capacity, saved_of_capacity;
    bool has_children, has_successors, has_accesses; /* of the graph */
    bool has_joins, has_creation_ops;                /* joins that do something; costs of creation */
    int32_t *parent_store, *marked_store, *end_store; /* what parent, marked and end_number point to when in use */
} ssk_tasks_t;

void ssk_tasks_init(ssk_tasks_t *self);
void ssk_tasks_free(ssk_tasks_t *self, const ssk_allocator_t *allocator);

/*
 * Sets all tasks of a graph to "not created"; `known` says that it is the graph of the last time. SSK_ERR_ARGUMENT when
 * a task has two parents.
 */
int ssk_tasks_reset(ssk_tasks_t *self, const ssk_allocator_t *allocator, const ssk_graph_t *graph, bool known,
                    bool with_marks, ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;

/* Returns a place for the preempted segment of a task; NULL without memory. */
ssk_saved_t *ssk_tasks_save(ssk_tasks_t *self, const ssk_allocator_t *allocator, int32_t task);

/* Takes the preempted segment of a task out; false when it has none. */
bool ssk_tasks_restore(ssk_tasks_t *self, int32_t task, ssk_saved_t *saved_ret);

/* Tells whether a task has begun and has nothing to resume: only a duplicate of a leaf is like that. */
static inline bool ssk_tasks_starts_over(const ssk_tasks_t *self, int32_t task)
{
    return self->phase[task] == SSK_TASK_BODY && (self->saved_of == NULL || self->saved_of[task] < 0);
}

int ssk_tasks_verify(const ssk_tasks_t *self) SSK_CHECK_RESULT;

static inline int32_t ssk_tasks_parent(const ssk_tasks_t *self, int32_t task)
{
    return self->parent == NULL ? SSK_NONE : self->parent[task];
}

#endif

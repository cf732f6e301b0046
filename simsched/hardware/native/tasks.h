/*
 * State of the tasks of one graph.
 *
 * `pending` counts predecessors that have not ended, plus one until the task is created if it has a parent; who brings it
 * to 0 has made it ready. `outstanding` counts children that have not ended, plus one until the task itself has come to
 * its sync; who brings it to 0 goes on with the join. `next_child` is the continuation: how many children have been
 * spawned, or HW_NONE before the body; it belongs to whoever has the task, and passes on with it through the pools.
 *
 * Invariant: at the start of an iteration every task is as hw_task_reset() leaves it; who ends a task puts it back, because
 * then nobody else can touch it until the barrier.
 */
#ifndef HW_TASKS_H
#define HW_TASKS_H

#include "base.h"
#include "program.h"

/* A graph in arrays that belong to the caller and stay until the run has ended. */
typedef struct {
    int32_t n_tasks, n_roots, n_args;
    const int64_t *child_ptr;
    const int32_t *child;
    const int64_t *succ_ptr;
    const int32_t *succ;
    const int32_t *parent;    /* HW_NONE: created at the start of the iteration */
    const int32_t *in_degree; /* number of predecessors */
    const int32_t *function;  /* index of each task's class in the program */
    const int32_t *roots;     /* tasks that are ready at the start of the iteration, in the order of their push */
    const int64_t *args;      /* n_args of each task */
} hw_graph_t;

typedef struct {
    _Atomic int32_t pending, outstanding;
    int32_t next_child;
} hw_task_t;

static inline int32_t hw_n_children(const hw_graph_t *graph, int32_t task)
{
    return (int32_t)(graph->child_ptr[task + 1] - graph->child_ptr[task]);
}

/* Puts a task into the state in which iterations begin. */
static inline void hw_task_reset(hw_task_t *tasks, const hw_graph_t *graph, int32_t task)
{
    int32_t pending = graph->in_degree[task] + (graph->parent[task] != HW_NONE);
    /* Relaxed: the barrier comes before anybody's next access. */
    atomic_store_explicit(&tasks[task].pending, pending, memory_order_relaxed);
    atomic_store_explicit(&tasks[task].outstanding, hw_n_children(graph, task) + 1, memory_order_relaxed);
    tasks[task].next_child = HW_NONE;
}

/*
 * Takes one off a counter of a task and returns what is left. Release: what was done so far is done before; acquire: who
 * brings it to 0 sees what all the others did.
 */
static inline int32_t hw_count_down(_Atomic int32_t *counter)
{
    return atomic_fetch_sub_explicit(counter, 1, memory_order_acq_rel) - 1;
}

#endif

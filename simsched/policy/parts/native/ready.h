/* Ready tasks of a schedule in the order of falling priority, and what a task waits for. */
#ifndef SSL_READY_H
#define SSL_READY_H

#include "schedule.h"

typedef struct {
    int32_t *heap; /* ready tasks, the next one in front */
    int32_t n;
    int32_t *missing; /* predecessors of each task that are not scheduled yet */
    const double *priority;
} ssl_ready_t;

int ssl_ready_alloc(ssl_ready_t *ready, const ssl_problem_t *problem, const double *priority)
    __attribute__((warn_unused_result));
void ssl_ready_free(ssl_ready_t *ready);

/* Take the task of the highest priority; -1 when none is ready. */
int32_t ssl_ready_pop(ssl_ready_t *ready);

/* Note that a task has its place: its successors may become ready. */
void ssl_ready_release(ssl_ready_t *ready, const ssl_problem_t *problem, int32_t task);

/* When the data of a task can be on each node; arrivals [n_nodes]. Predecessors without a
 * worker (-1) are passed over. */
void ssl_arrivals(const ssl_problem_t *problem, const ssl_schedule_t *schedule, int32_t task,
    double *arrival);

/* Seconds that a task takes on a worker. */
static inline double ssl_cost(const ssl_problem_t *problem, int32_t task, int32_t worker)
{
    return problem->cost[(int64_t) problem->worker_row[worker] * problem->n_tasks + task];
}

#endif

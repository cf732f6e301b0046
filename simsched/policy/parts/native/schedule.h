/* Static list scheduling of task graphs on unequal workers.
 *
 * All times are seconds as doubles, all arrays belong to the caller, nothing is kept between calls, and
 * calls may run at the same time. Sums and comparisons follow the order of indices, so that the same
 * input gives the same schedule everywhere; ties go to the lower worker, then to the lower task.
 * Functions return 0, SSL_NO_MEMORY, SSL_CYCLE (the edges have a cycle) or SSL_NO_WORKER (a task
 * that no worker can run); the schedule is complete only after 0.
 */
#ifndef SSL_SCHEDULE_H
#define SSL_SCHEDULE_H

#include <stdint.h>

enum { SSL_MORE = 1, SSL_NO_MEMORY = -1, SSL_CYCLE = -2, SSL_NO_WORKER = -3 };

/* How a worker is chosen for the next task of a list. */
enum { SSL_EARLIEST_FINISH = 0, SSL_EARLIEST_START = 1, SSL_LOOKAHEAD = 2 };

/* Which pair of ready task and worker is next where the list is made on the way. */
enum { SSL_ETF = 0, SSL_DLS = 1, SSL_MIN_MIN = 2, SSL_MAX_MIN = 3 };

typedef struct {
    int32_t n_tasks;
    int32_t n_workers;
    int32_t n_nodes;            /* memory nodes of workers */
    const int64_t *pred_ptr;    /* [n_tasks + 1] */
    const int32_t *pred;        /* predecessors */
    const double *pred_bytes;   /* bytes that go over each of these edges */
    const int64_t *succ_ptr;    /* [n_tasks + 1] */
    const int32_t *succ;        /* successors */
    const int32_t *worker_row;  /* [n_workers] row of `cost` */
    const int32_t *worker_node; /* [n_workers] */
    const double *cost;         /* [rows][n_tasks]; infinity where a task cannot run */
    const double *latency;      /* [n_nodes][n_nodes], 0 on the diagonal */
    const double *byte_time;    /* [n_nodes][n_nodes] seconds per byte, 0 on the diagonal */
} ssl_problem_t;

typedef struct {
    int32_t *worker; /* [n_tasks] */
    double *start;   /* [n_tasks] */
    double *finish;  /* [n_tasks] */
} ssl_schedule_t;

/* Take ready tasks in the order of falling priority and put each on the worker that `choice` names.
 *
 * priority   [n_tasks]
 * tail       [n_tasks][n_workers] or NULL: what is expected to follow a task on each worker; it is
 *            added to the finish when workers are compared (SSL_EARLIEST_FINISH)
 * pinned     [n_tasks] or NULL: worker of each task, -1 for any
 * insertion  whether a task may use a gap between others
 */
int ssl_schedule_list(const ssl_problem_t *problem, const double *priority, const double *tail,
    const int32_t *pinned, int choice, int insertion, ssl_schedule_t *out)
    __attribute__((warn_unused_result));

/* A schedule in which task and worker are chosen together among the ready tasks, without insertion;
 * `level` [n_tasks] breaks ties of SSL_ETF and enters SSL_DLS with `typical` [n_tasks], the median
 * cost. What it is made of stays with the caller until it is freed. NULL: no memory. */
typedef struct ssl_pairs_t ssl_pairs_t;
ssl_pairs_t *ssl_pairs_alloc(
    const ssl_problem_t *problem, const double *level, const double *typical, int rule);
void ssl_pairs_free(ssl_pairs_t *pairs);

/* Choose up to `n_steps` (at least 1) pairs more; SSL_MORE if more are left, so that the caller can be
 * interrupted. */
int ssl_pairs_run(ssl_pairs_t *pairs, int64_t n_steps, ssl_schedule_t *out)
    __attribute__((warn_unused_result));

/* Upward ranks: cost of a task plus the largest of edge and rank of its successors.
 * mean [n_tasks] costs, edge_time of every successor edge [n_edges], rank [n_tasks] is written. */
int ssl_upward_ranks(const ssl_problem_t *problem, const double *mean, const double *edge_time,
    double *rank) __attribute__((warn_unused_result));

/* Optimistic cost table of PEFT: table [n_tasks][n_workers] is written. */
int ssl_optimistic_costs(const ssl_problem_t *problem, const double *edge_time, double *table)
    __attribute__((warn_unused_result));

#endif

/* Schedules in which task and worker are chosen together, among the ready tasks.
 *
 * Invariant: `ready` holds the tasks whose predecessors all have their place, by number; arrival[] of
 * a ready task does not change any more. Each step looks at all pairs: O(ready tasks x workers).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ready.h"
#include "schedule.h"

typedef struct {
    double key;    /* the smaller the better */
    double second; /* of equal keys the smaller */
    int32_t position;
    int32_t worker;
    double start;
} pair_t;

typedef struct {
    const ssl_problem_t *problem;
    const double *level;
    const double *typical;
    int rule;
    double *free_at;  /* [n_workers] */
    int32_t *ready;   /* ascending */
    int32_t n_ready;
    int32_t *missing; /* [n_tasks] */
    double *arrival;  /* [n_tasks][n_nodes] */
} pairs_t;

/* The best worker of a ready task under the rule's view of a single task. */
static pair_t best_of_task(const pairs_t *pairs, int32_t position)
{
    const ssl_problem_t *problem = pairs->problem;
    int32_t task = pairs->ready[position];
    const double *arrival = pairs->arrival + (int64_t) task * problem->n_nodes;
    pair_t best = {INFINITY, INFINITY, position, -1, 0.0};
    for (int32_t w = 0; w < problem->n_workers; w++) {
        double cost = ssl_cost(problem, task, w);
        if (!isfinite(cost)) {
            continue;
        }
        double there = arrival[problem->worker_node[w]];
        double start = pairs->free_at[w] > there ? pairs->free_at[w] : there;
        double key = start + cost;
        if (pairs->rule == SSL_ETF) {
            key = start;
        } else if (pairs->rule == SSL_DLS) {
            key = start - pairs->level[task] - (pairs->typical[task] - cost);
        }
        if (key < best.key) {
            best = (pair_t){key, -pairs->level[task], position, w, start};
        }
    }
    return best;
}

/* Whether a pair is to be preferred to the best one so far, which has a lower task number. */
static int better(const pairs_t *pairs, const pair_t *a, const pair_t *best)
{
    if (best->worker < 0) {
        return 1;
    }
    if (pairs->rule == SSL_MAX_MIN) {
        return a->key > best->key;
    }
    if (a->key != best->key) {
        return a->key < best->key;
    }
    return pairs->rule == SSL_ETF && a->second < best->second;
}

/* Add a task to the ready ones, which stay ascending. */
static void make_ready(pairs_t *pairs, const ssl_schedule_t *out, int32_t task)
{
    int32_t i = pairs->n_ready++;
    for (; i > 0 && pairs->ready[i - 1] > task; i--) {
        pairs->ready[i] = pairs->ready[i - 1];
    }
    pairs->ready[i] = task;
    ssl_arrivals(
        pairs->problem, out, task, pairs->arrival + (int64_t) task * pairs->problem->n_nodes);
}

/* Choose one pair and give the task its place. */
static int step(pairs_t *pairs, ssl_schedule_t *out)
{
    const ssl_problem_t *problem = pairs->problem;
    pair_t best = {INFINITY, INFINITY, -1, -1, 0.0};
    for (int32_t i = 0; i < pairs->n_ready; i++) {
        pair_t pair = best_of_task(pairs, i);
        if (pair.worker < 0) {
            return SSL_NO_WORKER;
        }
        if (better(pairs, &pair, &best)) {
            best = pair;
        }
    }
    int32_t task = pairs->ready[best.position];
    out->worker[task] = best.worker;
    out->start[task] = best.start;
    out->finish[task] = best.start + ssl_cost(problem, task, best.worker);
    pairs->free_at[best.worker] = out->finish[task];
    pairs->n_ready--;
    memmove(pairs->ready + best.position, pairs->ready + best.position + 1,
        (size_t) (pairs->n_ready - best.position) * sizeof(int32_t));
    for (int64_t e = problem->succ_ptr[task]; e < problem->succ_ptr[task + 1]; e++) {
        if (--pairs->missing[problem->succ[e]] == 0) {
            make_ready(pairs, out, problem->succ[e]);
        }
    }
    return 0;
}

int ssl_schedule_pairs(const ssl_problem_t *problem, const double *level, const double *typical,
    int rule, ssl_schedule_t *out)
{
    size_t n = (size_t) problem->n_tasks + 1;
    pairs_t pairs = {.problem = problem, .level = level, .typical = typical, .rule = rule};
    int32_t n_done = 0;
    int ret = 0;
    pairs.free_at = calloc((size_t) problem->n_workers + 1, sizeof(double));
    pairs.ready = malloc(n * sizeof(int32_t));
    pairs.missing = malloc(n * sizeof(int32_t));
    pairs.arrival = malloc(n * (size_t) problem->n_nodes * sizeof(double));
    if (pairs.free_at == NULL || pairs.ready == NULL || pairs.missing == NULL
        || pairs.arrival == NULL) {
        ret = SSL_NO_MEMORY;
        goto out;
    }
    for (int32_t t = 0; t < problem->n_tasks; t++) {
        pairs.missing[t] = (int32_t) (problem->pred_ptr[t + 1] - problem->pred_ptr[t]);
        if (pairs.missing[t] == 0) {
            make_ready(&pairs, out, t);
        }
    }
    for (; ret == 0 && pairs.n_ready > 0; n_done++) {
        ret = step(&pairs, out);
    }
    if (ret == 0 && n_done < problem->n_tasks) {
        ret = SSL_CYCLE;
    }
out:
    free(pairs.free_at);
    free(pairs.ready);
    free(pairs.missing);
    free(pairs.arrival);
    return ret;
}

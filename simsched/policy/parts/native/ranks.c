/* Priorities that follow from the whole graph, in the reverse of a topological order. */
#include <math.h>
#include <stdlib.h>

#include "ready.h"
#include "schedule.h"

/* Write a topological order of the tasks. */
static int topological(const ssl_problem_t *problem, int32_t *order)
{
    int32_t n = 0, done = 0;
    int32_t *missing = malloc(((size_t) problem->n_tasks + 1) * sizeof(*missing));
    if (missing == NULL) {
        return SSL_NO_MEMORY;
    }
    for (int32_t t = 0; t < problem->n_tasks; t++) {
        missing[t] = (int32_t) (problem->pred_ptr[t + 1] - problem->pred_ptr[t]);
        if (missing[t] == 0) {
            order[n++] = t;
        }
    }
    for (; done < n; done++) {
        for (int64_t e = problem->succ_ptr[order[done]]; e < problem->succ_ptr[order[done] + 1]; e++) {
            if (--missing[problem->succ[e]] == 0) {
                order[n++] = problem->succ[e];
            }
        }
    }
    free(missing);
    return n == problem->n_tasks ? 0 : SSL_CYCLE;
}

int ssl_upward_ranks(
    const ssl_problem_t *problem, const double *mean, const double *edge_time, double *rank)
{
    int32_t *order = malloc(((size_t) problem->n_tasks + 1) * sizeof(*order));
    int ret = order == NULL ? SSL_NO_MEMORY : topological(problem, order);
    if (ret != 0) {
        goto out;
    }
    for (int32_t i = problem->n_tasks - 1; i >= 0; i--) {
        int32_t t = order[i];
        double longest = 0.0;
        for (int64_t e = problem->succ_ptr[t]; e < problem->succ_ptr[t + 1]; e++) {
            double below = edge_time[e] + rank[problem->succ[e]];
            longest = below > longest ? below : longest;
        }
        rank[t] = mean[t] + longest;
    }
out:
    free(order);
    return ret;
}

/* Smallest of `own` and of `other` + edge, where own holds for workers that share the node. */
static double cheapest(const ssl_problem_t *problem, const double *row, int32_t succ, double edge,
    int32_t node)
{
    double best = INFINITY;
    for (int32_t q = 0; q < problem->n_workers; q++) {
        double value = row[q] + ssl_cost(problem, succ, q);
        value += problem->worker_node[q] == node ? 0.0 : edge;
        best = value < best ? value : best;
    }
    return best;
}

int ssl_optimistic_costs(const ssl_problem_t *problem, const double *edge_time, double *table)
{
    int64_t n_workers = problem->n_workers;
    int32_t *order = malloc(((size_t) problem->n_tasks + 1) * sizeof(*order));
    double *by_node = malloc(((size_t) problem->n_nodes + 1) * sizeof(*by_node));
    int ret = order == NULL || by_node == NULL ? SSL_NO_MEMORY : topological(problem, order);
    if (ret != 0) {
        goto out;
    }
    for (int32_t i = problem->n_tasks - 1; i >= 0; i--) {
        int32_t t = order[i];
        /* What follows depends on the node of the worker only, as data do not move inside one. */
        for (int32_t node = 0; node < problem->n_nodes; node++) {
            by_node[node] = 0.0;
            for (int64_t e = problem->succ_ptr[t]; e < problem->succ_ptr[t + 1]; e++) {
                int32_t s = problem->succ[e];
                double value
                    = cheapest(problem, table + s * n_workers, s, edge_time[e], node);
                by_node[node] = value > by_node[node] ? value : by_node[node];
            }
        }
        for (int32_t w = 0; w < problem->n_workers; w++) {
            table[t * n_workers + w] = by_node[problem->worker_node[w]];
        }
    }
out:
    free(order);
    free(by_node);
    return ret;
}

/* Ready tasks: a binary heap. Invariant: heap[(i - 1) / 2] comes before heap[i]; of two tasks the one of
 * higher priority comes first, of equal ones the lower number.
 */
#include "ready.h"

#include <stdlib.h>

static int before(const ssl_ready_t *ready, int32_t a, int32_t b)
{
    if (ready->priority[a] != ready->priority[b]) {
        return ready->priority[a] > ready->priority[b];
    }
    return a < b;
}

static void push(ssl_ready_t *ready, int32_t task)
{
    int32_t i = ready->n++;
    while (i > 0 && before(ready, task, ready->heap[(i - 1) / 2])) {
        ready->heap[i] = ready->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    ready->heap[i] = task;
}

int32_t ssl_ready_pop(ssl_ready_t *ready)
{
    if (ready->n == 0) {
        return -1;
    }
    int32_t first = ready->heap[0], last = ready->heap[--ready->n], i = 0;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child + 1 < ready->n && before(ready, ready->heap[child + 1], ready->heap[child])) {
            child++;
        }
        if (child >= ready->n || !before(ready, ready->heap[child], last)) {
            break;
        }
        ready->heap[i] = ready->heap[child];
        i = child;
    }
    ready->heap[i] = last;
    return first;
}

int ssl_ready_alloc(ssl_ready_t *ready, const ssl_problem_t *problem, const double *priority)
{
    size_t n = (size_t) problem->n_tasks + 1;
    *ready = (ssl_ready_t){malloc(n * sizeof(int32_t)), 0, malloc(n * sizeof(int32_t)), priority};
    if (ready->heap == NULL || ready->missing == NULL) {
        return SSL_NO_MEMORY;
    }
    for (int32_t t = 0; t < problem->n_tasks; t++) {
        ready->missing[t] = (int32_t) (problem->pred_ptr[t + 1] - problem->pred_ptr[t]);
        if (ready->missing[t] == 0) {
            push(ready, t);
        }
    }
    return 0;
}

void ssl_ready_free(ssl_ready_t *ready)
{
    free(ready->heap);
    free(ready->missing);
}

void ssl_ready_release(ssl_ready_t *ready, const ssl_problem_t *problem, int32_t task)
{
    for (int64_t e = problem->succ_ptr[task]; e < problem->succ_ptr[task + 1]; e++) {
        if (--ready->missing[problem->succ[e]] == 0) {
            push(ready, problem->succ[e]);
        }
    }
}

void ssl_arrivals(const ssl_problem_t *problem, const ssl_schedule_t *schedule, int32_t task,
    double *arrival)
{
    for (int32_t node = 0; node < problem->n_nodes; node++) {
        arrival[node] = 0.0;
    }
    for (int64_t e = problem->pred_ptr[task]; e < problem->pred_ptr[task + 1]; e++) {
        int32_t p = problem->pred[e];
        if (schedule->worker[p] < 0) {
            continue;
        }
        int64_t row = (int64_t) problem->worker_node[schedule->worker[p]] * problem->n_nodes;
        for (int32_t node = 0; node < problem->n_nodes; node++) {
            double there = schedule->finish[p] + problem->latency[row + node]
                           + problem->pred_bytes[e] * problem->byte_time[row + node];
            if (there > arrival[node]) {
                arrival[node] = there;
            }
        }
    }
}

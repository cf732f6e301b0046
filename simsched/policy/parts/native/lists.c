/* Schedules made from a list: the ready task of the highest priority is next. */
#include <math.h>
#include <stdlib.h>

#include "ready.h"
#include "schedule.h"
#include "slots.h"

typedef struct {
    const ssl_problem_t *problem;
    ssl_schedule_t *out;
    ssl_slots_t *slots;   /* of every worker */
    ssl_slots_t *saved;   /* copies, while something is tried */
    double *arrival;      /* [n_nodes] of the task in question */
    double *inner;        /* [n_nodes] of a successor that is tried */
    int insertion;
} list_t;

/* Put a task on a worker. */
static int place(list_t *list, int32_t task, int32_t worker, double start)
{
    double cost = ssl_cost(list->problem, task, worker);
    list->out->worker[task] = worker;
    list->out->start[task] = start;
    list->out->finish[task] = start + cost;
    return ssl_slots_take(list->slots + worker, start, cost);
}

static double earliest(const list_t *list, int32_t task, int32_t worker, const double *arrival)
{
    double ready = arrival[list->problem->worker_node[worker]];
    double cost = ssl_cost(list->problem, task, worker);
    return ssl_slots_earliest(list->slots + worker, ready, cost, list->insertion);
}

/* The worker with the smallest finish (or start) plus tail; -1 when none can run the task. */
static int32_t best_worker(const list_t *list, int32_t task, const double *arrival,
    const double *tail, int by_start, double *start)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t w = 0; w < list->problem->n_workers; w++) {
        double cost = ssl_cost(list->problem, task, w);
        if (!isfinite(cost)) {
            continue;
        }
        double begin = earliest(list, task, w, arrival);
        double value = by_start ? begin : begin + cost;
        if (tail != NULL) {
            value += tail[(int64_t) task * list->problem->n_workers + w];
        }
        if (value < least) {
            least = value;
            best = w;
            *start = begin;
        }
    }
    return best;
}

/* Try a task on a worker, its successors one by one after it; return the last of their finishes. */
static int try_worker(list_t *list, int32_t task, int32_t worker, double *value)
{
    const ssl_problem_t *problem = list->problem;
    int32_t n_placed = 0;
    int ret = place(list, task, worker, earliest(list, task, worker, list->arrival));
    *value = list->out->finish[task];
    int64_t first = problem->succ_ptr[task], last = problem->succ_ptr[task + 1];
    for (int64_t e = first; ret == 0 && e < last; e++, n_placed++) {
        int32_t s = problem->succ[e];
        double start = 0.0;
        ssl_arrivals(problem, list->out, s, list->inner);
        int32_t w = best_worker(list, s, list->inner, NULL, 0, &start);
        if (w < 0) {
            ret = SSL_NO_WORKER;
            break;
        }
        ret = place(list, s, w, start);
        *value = list->out->finish[s] > *value ? list->out->finish[s] : *value;
    }
    for (int64_t e = first; e < first + n_placed; e++) {
        list->out->worker[problem->succ[e]] = -1;
    }
    list->out->worker[task] = -1;
    for (int32_t w = 0; ret == 0 && w < problem->n_workers; w++) {
        ret = ssl_slots_copy(list->slots + w, list->saved + w);
    }
    return ret;
}

/* The worker after which the successors would be done first. */
static int look_ahead(list_t *list, int32_t task, int32_t *best)
{
    double least = INFINITY;
    int ret = 0;
    *best = -1;
    for (int32_t w = 0; w < list->problem->n_workers; w++) {
        ret = ssl_slots_copy(list->saved + w, list->slots + w);
        if (ret != 0) {
            return ret;
        }
    }
    for (int32_t w = 0; w < list->problem->n_workers; w++) {
        double value = INFINITY;
        if (!isfinite(ssl_cost(list->problem, task, w))) {
            continue;
        }
        ret = try_worker(list, task, w, &value);
        if (ret != 0) {
            return ret;
        }
        if (value < least) {
            least = value;
            *best = w;
        }
    }
    return 0;
}

/* Find the place of one task and take it. */
static int schedule_task(
    list_t *list, int32_t task, const double *tail, const int32_t *pinned, int choice)
{
    double start = 0.0;
    int32_t worker = pinned == NULL ? -1 : pinned[task];
    int ret = 0;
    ssl_arrivals(list->problem, list->out, task, list->arrival);
    if (worker < 0 && choice == SSL_LOOKAHEAD) {
        ret = look_ahead(list, task, &worker);
    } else if (worker < 0) {
        worker = best_worker(
            list, task, list->arrival, tail, choice == SSL_EARLIEST_START, &start);
    }
    if (ret != 0) {
        return ret;
    }
    if (worker < 0 || !isfinite(ssl_cost(list->problem, task, worker))) {
        return SSL_NO_WORKER;
    }
    return place(list, task, worker, earliest(list, task, worker, list->arrival));
}

int ssl_schedule_list(const ssl_problem_t *problem, const double *priority, const double *tail,
    const int32_t *pinned, int choice, int insertion, ssl_schedule_t *out)
{
    list_t list = {.problem = problem, .out = out, .insertion = insertion};
    ssl_ready_t ready = {0};
    int32_t task = -1, n_done = 0;
    size_t n_nodes = (size_t) problem->n_nodes + 1;
    int ret = ssl_ready_alloc(&ready, problem, priority);
    if (ret == 0) {
        ret = ssl_slots_alloc(&list.slots, problem->n_workers);
    }
    if (ret == 0) {
        ret = ssl_slots_alloc(&list.saved, problem->n_workers);
    }
    list.arrival = malloc(n_nodes * sizeof(double));
    list.inner = malloc(n_nodes * sizeof(double));
    if (list.arrival == NULL || list.inner == NULL) {
        ret = SSL_NO_MEMORY;
    }
    for (int32_t t = 0; t < problem->n_tasks; t++) {
        out->worker[t] = -1;
    }
    while (ret == 0 && (task = ssl_ready_pop(&ready)) >= 0) {
        ret = schedule_task(&list, task, tail, pinned, choice);
        ssl_ready_release(&ready, problem, task);
        n_done++;
    }
    if (ret == 0 && n_done < problem->n_tasks) {
        ret = SSL_CYCLE;
    }
    ssl_slots_free(list.slots, problem->n_workers);
    ssl_slots_free(list.saved, problem->n_workers);
    free(list.arrival);
    free(list.inner);
    ssl_ready_free(&ready);
    return ret;
}

/* Schedules in which task and worker are chosen together, among the ready tasks.
 *
 * Invariants: `ready` holds the tasks whose predecessors all have their place, by number; arrival[] of
 * a ready task does not change any more. Workers of equal costs and node are a kind; `order` has those
 * of a kind by the time when they are free, of equal times by number, so that keys of a task rise along
 * it; `lowest` has the lowest number up to each of them. best[] of a ready task is its best worker: keys
 * never fall, so it remains that until this worker gets a task. A step takes O(ready tasks), and
 * O(kinds x log workers) for each whose best worker it has used.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ready.h"
#include "schedule.h"

typedef struct {
    double key; /* the smaller the better */
    double start;
    int32_t worker;
} best_t;

struct ssl_pairs_t {
    const ssl_problem_t *problem;
    const double *level;
    const double *typical;
    int rule;
    int32_t n_done;
    double *free_at; /* [n_workers] */
    int32_t n_kinds;
    int32_t *kind;   /* [n_workers] */
    int32_t *first;  /* [n_workers + 1] where the workers of each kind begin in `order` */
    int32_t *order;  /* [n_workers] */
    int32_t *lowest; /* [n_workers] */
    int32_t *ready;  /* ascending */
    int32_t n_ready;
    int32_t *missing; /* [n_tasks] */
    double *arrival;  /* [n_tasks][n_nodes] */
    best_t *best;     /* [n_tasks] */
};

/* When a worker could start a task. */
static double start_of(const ssl_pairs_t *pairs, int32_t task, int32_t w)
{
    const ssl_problem_t *problem = pairs->problem;
    double there = pairs->arrival[(int64_t) task * problem->n_nodes + problem->worker_node[w]];
    return pairs->free_at[w] > there ? pairs->free_at[w] : there;
}

static double key_of(const ssl_pairs_t *pairs, int32_t task, int32_t w, double cost)
{
    double start = start_of(pairs, task, w);
    if (pairs->rule == SSL_ETF) {
        return start;
    }
    if (pairs->rule == SSL_DLS) {
        return start - pairs->level[task] - (pairs->typical[task] - cost);
    }
    return start + cost;
}

/* The best worker of one kind: the lowest of those with the smallest key, which are the first ones. */
static best_t best_of_kind(const ssl_pairs_t *pairs, int32_t task, int32_t kind)
{
    const int32_t *order = pairs->order + pairs->first[kind];
    int32_t n = pairs->first[kind + 1] - pairs->first[kind];
    double cost = ssl_cost(pairs->problem, task, order[0]);
    if (!isfinite(cost)) {
        return (best_t){INFINITY, 0.0, -1};
    }
    double key = key_of(pairs, task, order[0], cost);
    int32_t equal = 1, other = n; /* those before `equal` have this key, those from `other` on do not */
    if (n > 1 && key_of(pairs, task, order[1], cost) != key) {
        other = 1; /* as a rule */
    }
    while (equal < other) {
        int32_t middle = equal + (other - equal) / 2;
        if (key_of(pairs, task, order[middle], cost) == key) {
            equal = middle + 1;
        } else {
            other = middle;
        }
    }
    int32_t worker = pairs->lowest[pairs->first[kind] + equal - 1];
    return (best_t){key, start_of(pairs, task, worker), worker};
}

/* Find the best worker of a ready task under the rule's view of a single task. */
static void find_best(ssl_pairs_t *pairs, int32_t task)
{
    best_t best = {INFINITY, 0.0, -1};
    for (int32_t kind = 0; kind < pairs->n_kinds; kind++) {
        best_t found = best_of_kind(pairs, task, kind);
        if (found.worker >= 0
            && (best.worker < 0 || found.key < best.key
                || (found.key == best.key && found.worker < best.worker))) {
            best = found;
        }
    }
    pairs->best[task] = best;
}

/* Whether a task is to be preferred to the best one so far, which has a lower number. */
static bool better(const ssl_pairs_t *pairs, int32_t task, int32_t best)
{
    if (best < 0) {
        return true;
    }
    double key = pairs->best[task].key, least = pairs->best[best].key;
    if (pairs->rule == SSL_MAX_MIN) {
        return key > least;
    }
    if (key != least) {
        return key < least;
    }
    return pairs->rule == SSL_ETF && pairs->level[task] > pairs->level[best];
}

/* Add a task to the ready ones, which stay ascending. */
static void make_ready(ssl_pairs_t *pairs, const ssl_schedule_t *out, int32_t task)
{
    int32_t i = pairs->n_ready++;
    for (; i > 0 && pairs->ready[i - 1] > task; i--) {
        pairs->ready[i] = pairs->ready[i - 1];
    }
    pairs->ready[i] = task;
    ssl_arrivals(
        pairs->problem, out, task, pairs->arrival + (int64_t) task * pairs->problem->n_nodes);
}

/* Put a worker that is free later now into its place among those of its kind. */
static void move_back(ssl_pairs_t *pairs, int32_t w)
{
    int32_t first = pairs->first[pairs->kind[w]], end = pairs->first[pairs->kind[w] + 1], i = first;
    while (pairs->order[i] != w) {
        i++;
    }
    for (; i + 1 < end; i++) {
        int32_t next = pairs->order[i + 1];
        if (pairs->free_at[next] > pairs->free_at[w]
            || (pairs->free_at[next] == pairs->free_at[w] && next > w)) {
            break;
        }
        pairs->order[i] = next;
    }
    pairs->order[i] = w;
    for (i = first; i < end; i++) {
        bool is_lower = i == first || pairs->order[i] < pairs->lowest[i - 1];
        pairs->lowest[i] = is_lower ? pairs->order[i] : pairs->lowest[i - 1];
    }
}

/* Choose one pair and give the task its place. */
static int step(ssl_pairs_t *pairs, ssl_schedule_t *out)
{
    const ssl_problem_t *problem = pairs->problem;
    int32_t task = -1, place = 0;
    for (int32_t i = 0; i < pairs->n_ready; i++) {
        if (pairs->best[pairs->ready[i]].worker < 0) {
            return SSL_NO_WORKER;
        }
        if (better(pairs, pairs->ready[i], task)) {
            task = pairs->ready[i];
            place = i;
        }
    }
    int32_t w = pairs->best[task].worker;
    out->worker[task] = w;
    out->start[task] = pairs->best[task].start;
    out->finish[task] = out->start[task] + ssl_cost(problem, task, w);
    pairs->free_at[w] = out->finish[task];
    move_back(pairs, w);
    pairs->n_ready--;
    memmove(pairs->ready + place, pairs->ready + place + 1,
        (size_t) (pairs->n_ready - place) * sizeof(int32_t));
    for (int32_t i = 0; i < pairs->n_ready; i++) {
        if (pairs->best[pairs->ready[i]].worker == w) {
            find_best(pairs, pairs->ready[i]);
        }
    }
    for (int64_t e = problem->succ_ptr[task]; e < problem->succ_ptr[task + 1]; e++) {
        if (--pairs->missing[problem->succ[e]] == 0) {
            make_ready(pairs, out, problem->succ[e]);
            find_best(pairs, problem->succ[e]);
        }
    }
    return 0;
}

/* Sort workers into kinds, in the order of the first one of each. */
static void find_kinds(ssl_pairs_t *pairs)
{
    const ssl_problem_t *problem = pairs->problem;
    int32_t n = 0;
    for (int32_t w = 0; w < problem->n_workers; w++) {
        pairs->kind[w] = -1;
    }
    for (int32_t a = 0; a < problem->n_workers; a++) {
        if (pairs->kind[a] >= 0) {
            continue;
        }
        pairs->first[pairs->n_kinds] = n;
        for (int32_t w = a; w < problem->n_workers; w++) {
            if (problem->worker_row[w] == problem->worker_row[a]
                && problem->worker_node[w] == problem->worker_node[a]) {
                pairs->kind[w] = pairs->n_kinds;
                pairs->lowest[n] = a;
                pairs->order[n++] = w;
            }
        }
        pairs->n_kinds++;
    }
    pairs->first[pairs->n_kinds] = n;
}

ssl_pairs_t *ssl_pairs_alloc(
    const ssl_problem_t *problem, const double *level, const double *typical, int rule)
{
    size_t n = (size_t) problem->n_tasks + 1, workers = (size_t) problem->n_workers + 1;
    ssl_pairs_t *pairs = calloc(1, sizeof(*pairs));
    if (pairs == NULL) {
        return NULL;
    }
    *pairs = (ssl_pairs_t){.problem = problem, .level = level, .typical = typical, .rule = rule};
    pairs->free_at = calloc(workers, sizeof(double));
    pairs->kind = calloc(workers, sizeof(int32_t));
    pairs->first = calloc(workers, sizeof(int32_t));
    pairs->order = calloc(workers, sizeof(int32_t));
    pairs->lowest = calloc(workers, sizeof(int32_t));
    pairs->ready = malloc(n * sizeof(int32_t));
    pairs->missing = malloc(n * sizeof(int32_t));
    pairs->arrival = malloc(n * (size_t) problem->n_nodes * sizeof(double) + 1);
    pairs->best = malloc(n * sizeof(best_t));
    if (pairs->free_at == NULL || pairs->kind == NULL || pairs->first == NULL
        || pairs->order == NULL || pairs->lowest == NULL || pairs->ready == NULL
        || pairs->missing == NULL || pairs->arrival == NULL || pairs->best == NULL) {
        ssl_pairs_free(pairs);
        return NULL;
    }
    find_kinds(pairs);
    return pairs;
}

void ssl_pairs_free(ssl_pairs_t *pairs)
{
    if (pairs == NULL) {
        return;
    }
    free(pairs->free_at);
    free(pairs->kind);
    free(pairs->first);
    free(pairs->order);
    free(pairs->lowest);
    free(pairs->ready);
    free(pairs->missing);
    free(pairs->arrival);
    free(pairs->best);
    free(pairs);
}

int ssl_pairs_run(ssl_pairs_t *pairs, int64_t n_steps, ssl_schedule_t *out)
{
    const ssl_problem_t *problem = pairs->problem;
    int ret = 0;
    for (int32_t t = 0; pairs->n_done == 0 && t < problem->n_tasks; t++) {
        pairs->missing[t] = (int32_t) (problem->pred_ptr[t + 1] - problem->pred_ptr[t]);
        if (pairs->missing[t] == 0) {
            make_ready(pairs, out, t);
            find_best(pairs, t);
        }
    }
    for (; ret == 0 && n_steps > 0 && pairs->n_ready > 0; n_steps--) {
        ret = step(pairs, out);
        pairs->n_done++;
    }
    if (ret != 0) {
        return ret;
    }
    if (pairs->n_ready > 0) {
        return SSL_MORE;
    }
    return pairs->n_done < problem->n_tasks ? SSL_CYCLE : 0;
}

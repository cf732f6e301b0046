/*
 * Random graphs in every mode. Tasks note in plain memory what they have done and look at what must have been done before:
 * a task that starts too early finds it missing, and one that starts in time without being ordered is a data race, which
 * ThreadSanitizer reports.
 */
#include "runtime.h"

#include <string.h>

#include "support.h"

enum { MAX_TASKS = 200, MAX_LINKS = 4 * MAX_TASKS, MAX_WORKERS = 4, N_SEEDS = 6, N_ITERATIONS = 3 };

typedef struct {
    int64_t child_ptr[MAX_TASKS + 1], succ_ptr[MAX_TASKS + 1], pred_ptr[MAX_TASKS + 1];
    int32_t child[MAX_TASKS], succ[MAX_LINKS], pred[MAX_LINKS];
    int32_t parent[MAX_TASKS], in_degree[MAX_TASKS], function[MAX_TASKS], roots[MAX_TASKS];
    hw_graph_t graph;
    int64_t begun[MAX_TASKS], ended[MAX_TASKS]; /* last iteration + 1 in which it did */
} scenario_t;

static void body(const hw_call_t *call)
{
    scenario_t *s = call->arrays[call->iteration == 0];
    int32_t task = call->task, parent = s->parent[task];
    CHECK(call->args[0] == 7 * (int64_t)task);
    CHECK(s->begun[task] == call->iteration); /* not yet in this iteration */
    if (parent != HW_NONE)
        CHECK(s->begun[parent] == call->iteration + 1);
    for (int64_t i = s->pred_ptr[task]; i < s->pred_ptr[task + 1]; i++)
        CHECK(s->ended[s->pred[i]] == call->iteration + 1);
    s->begun[task] = call->iteration + 1;
    if (s->child_ptr[task] == s->child_ptr[task + 1])
        s->ended[task] = call->iteration + 1;
}

static void join(const hw_call_t *call)
{
    scenario_t *s = call->arrays[call->iteration == 0];
    int32_t task = call->task;
    for (int64_t i = s->child_ptr[task]; i < s->child_ptr[task + 1]; i++)
        CHECK(s->ended[s->child[i]] == call->iteration + 1);
    CHECK(s->begun[task] == call->iteration + 1 && s->ended[task] == call->iteration);
    s->ended[task] = call->iteration + 1;
}

static const hw_class_t classes[] = {{"unused", NULL, NULL}, {"task", body, join}};
static const hw_program_t program = {"test", classes, 2};

/* Needed by runtime.h, not used here. */
const hw_program_t *const hw_programs[] = {&program};
const int32_t hw_n_programs = 1;

/* A forest (tree) and edges from a task to later ones with the same parent (edges): executable in every order. */
static void fill(scenario_t *s, uint64_t *seed, int32_t n, bool tree, bool edges)
{
    static const int64_t no_args = 0;
    int64_t n_children = 0, n_edges = 0;
    memset(s, 0, sizeof(*s));
    for (int32_t t = 0; t < n; t++) {
        s->parent[t] = tree && t > 0 && draw(seed, 8) > 0 ? draw(seed, t) : HW_NONE;
        s->function[t] = 1;
    }
    for (int32_t t = 0; t < n; t++) {
        s->child_ptr[t] = n_children;
        s->succ_ptr[t] = n_edges;
        for (int32_t u = t + 1; u < n; u++) {
            if (s->parent[u] == t)
                s->child[n_children++] = u;
            if (edges && s->parent[u] == s->parent[t] && n_edges < MAX_LINKS && draw(seed, 12) == 0) {
                s->succ[n_edges++] = u;
                s->in_degree[u]++;
            }
        }
    }
    s->child_ptr[n] = n_children;
    s->succ_ptr[n] = n_edges;
    int64_t n_preds = 0;
    for (int32_t t = 0; t < n; t++) {
        s->pred_ptr[t] = n_preds;
        for (int32_t u = 0; u < t; u++)
            for (int64_t e = s->succ_ptr[u]; e < s->succ_ptr[u + 1]; e++)
                if (s->succ[e] == t)
                    s->pred[n_preds++] = u;
    }
    s->pred_ptr[n] = n_preds;
    s->graph = (hw_graph_t){n,         0,          1,           s->child_ptr, s->child, s->succ_ptr, s->succ,
                            s->parent, s->in_degree, s->function, s->roots,     &no_args};
    for (int32_t t = 0; t < n; t++)
        if (s->parent[t] == HW_NONE && s->in_degree[t] == 0)
            s->roots[s->graph.n_roots++] = t;
}

static void run(scenario_t *init, scenario_t *graph, const int64_t *args, int mode, int32_t n_workers, uint64_t seed)
{
    int32_t cpu[MAX_WORKERS];
    void *arrays[] = {graph, init};
    for (int32_t w = 0; w < n_workers; w++)
        cpu[w] = HW_NONE;
    init->graph.args = graph->graph.args = args;
    memset(init->begun, 0, sizeof(init->begun));
    memset(init->ended, 0, sizeof(init->ended));
    for (int32_t t = 0; t < MAX_TASKS; t++)
        graph->begun[t] = graph->ended[t] = 1;
    hw_problem_t problem = {
        .program = &program, .arrays = arrays, .init = &init->graph, .graph = &graph->graph,
        .n_iterations = N_ITERATIONS, .n_workers = n_workers, .cpu = cpu, .order = mode & 1, .pools = mode >> 1 & 1,
        .own_take = mode >> 2 & 1, .seed = seed, .n_records = mode & 8 ? 50 : 20 * MAX_TASKS * N_ITERATIONS,
        .n_expected = 50,
    };
    hw_run_t *r;
    CHECK(hw_run_start(&r, &problem) == HW_OK);
    while (!hw_run_wait(r, 20000))
        CHECK(!"the run has stalled");
    CHECK(hw_run_result(r).status == HW_OK);
    CHECK(hw_run_result(r).n_done == 1 + N_ITERATIONS);
    int64_t tasks = 0, started = 0, lost = 0;
    for (int32_t w = 0; w < n_workers; w++) {
        const hw_records_t *records = hw_run_records(r, w);
        const hw_counters_t *counters = hw_run_counters(r, w);
        tasks += counters->tasks;
        CHECK(0 < counters->cpu_ns && counters->cpu_ns <= 1.01 * (double)counters->present_ns);
        lost += records->lost;
        CHECK(records->count <= records->capacity);
        for (int64_t i = 0; i < records->count; i++)
            started += records->records[i].what % 16 == HW_START;
    }
    CHECK(tasks == init->graph.n_tasks + N_ITERATIONS * graph->graph.n_tasks);
    CHECK(mode & 8 ? lost > 0 || tasks < 50 * n_workers : lost == 0 && started == tasks);
    for (int32_t t = 0; t < init->graph.n_tasks; t++)
        CHECK(init->ended[t] == 1);
    for (int32_t t = 0; t < graph->graph.n_tasks; t++)
        CHECK(graph->ended[t] == N_ITERATIONS + 1);
    hw_run_free(r);
}

int main(void)
{
    static scenario_t init, graph;
    static int64_t args[MAX_TASKS];
    for (int32_t t = 0; t < MAX_TASKS; t++)
        args[t] = 7 * (int64_t)t;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        uint64_t state = seed;
        fill(&init, &state, 1 + draw(&state, 20), seed % 2, seed % 3 == 0);
        fill(&graph, &state, 1 + draw(&state, MAX_TASKS - 1), seed % 3 != 0, seed % 3 != 1);
        for (int mode = 0; mode < 16; mode++)
            run(&init, &graph, args, mode, 1 + (int32_t)((seed + (uint64_t)mode) % MAX_WORKERS), seed);
    }
    return 0;
}

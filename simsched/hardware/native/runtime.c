#include "run.h"

#include <stdlib.h>
#include <string.h>

static int64_t power_of_two(int64_t at_least)
{
    int64_t size = 1;
    while (size < at_least)
        size *= 2;
    return size;
}

static int32_t most_tasks(const hw_problem_t *problem)
{
    int32_t n = problem->graph->n_tasks;
    return problem->init != NULL && problem->init->n_tasks > n ? problem->init->n_tasks : n;
}

static int new_worker(hw_run_t *run, int32_t number)
{
    const hw_problem_t *problem = &run->problem;
    hw_worker_t *worker = &run->workers[number];
    worker->run = run;
    worker->number = number;
    atomic_init(&worker->ended, 0);
    hw_random_init(&worker->random, problem->seed, (uint64_t)number);
    worker->call = (hw_call_t){
        .arrays = problem->arrays,
        .params = problem->params,
        .constants = problem->constants,
    };
    if (problem->pools == HW_DEQUES)
        hw_deque_init(&worker->deque, (_Atomic int32_t *)run->rings + number * run->ring_size, run->ring_size);
    if (problem->n_records > 0) {
        worker->records.records = hw_pages_new((size_t)problem->n_records * sizeof(hw_record_t));
        worker->records.capacity = problem->n_records;
    }
    return problem->n_records > 0 && worker->records.records == NULL ? HW_ERR_MEMORY : HW_OK;
}

static size_t tasks_bytes(const hw_graph_t *graph)
{
    return (size_t)graph->n_tasks * sizeof(hw_task_t);
}

static hw_task_t *new_tasks(const hw_graph_t *graph)
{
    hw_task_t *tasks = hw_pages_new(tasks_bytes(graph));
    for (int32_t task = 0; tasks != NULL && task < graph->n_tasks; task++)
        hw_task_reset(tasks, graph, task);
    return tasks;
}

/* Allocates what hw_run_free() frees. */
static int fill(hw_run_t *run)
{
    const hw_problem_t *problem = &run->problem;
    size_t n_workers = (size_t)problem->n_workers, workers_bytes = n_workers * sizeof(hw_worker_t);
    size_t n_rings = problem->pools == HW_DEQUES ? n_workers : 1;
    run->n_iterations = problem->n_iterations + (problem->init != NULL);
    run->ring_size = power_of_two(most_tasks(problem));
    run->rings_bytes = n_rings * (size_t)run->ring_size * sizeof(int32_t);
    run->rings = hw_pages_new(run->rings_bytes);
    run->iterations = calloc((size_t)run->n_iterations, sizeof(*run->iterations));
    run->graph_tasks = new_tasks(problem->graph);
    run->workers = aligned_alloc(HW_LINE, workers_bytes);
    if (run->workers != NULL)
        memset(run->workers, 0, workers_bytes);
    if (problem->init != NULL)
        run->init_tasks = new_tasks(problem->init);
    if (run->rings == NULL || run->iterations == NULL || run->graph_tasks == NULL || run->workers == NULL ||
        (problem->init != NULL && run->init_tasks == NULL))
        return HW_ERR_MEMORY;
    for (int32_t w = 0; w < problem->n_workers; w++) {
        int status = new_worker(run, w);
        if (status != HW_OK)
            return status;
    }
    return HW_OK;
}

int hw_run_start(hw_run_t **result, const hw_problem_t *problem)
{
    hw_run_t *run = aligned_alloc(HW_LINE, sizeof(*run));
    *result = NULL;
    if (run == NULL)
        return HW_ERR_MEMORY;
    memset(run, 0, sizeof(*run));
    run->problem = *problem;
    hw_clock_init(&run->clock);
    atomic_init(&run->is_stopped, false);
    int status = fill(run);
    hw_queue_init(&run->queue, run->rings, run->ring_size);
    if (status == HW_OK)
        status = hw_team_start(&run->team, problem->cpu, problem->n_workers, hw_worker_main, run);
    if (status == HW_OK)
        *result = run;
    else
        hw_run_free(run);
    return status;
}

bool hw_run_wait(hw_run_t *run, int milliseconds)
{
    return hw_team_wait(&run->team, milliseconds);
}

void hw_run_free(hw_run_t *run)
{
    atomic_store(&run->is_stopped, true);
    hw_team_join(&run->team);
    for (int32_t w = 0; run->workers != NULL && w < run->problem.n_workers; w++)
        hw_pages_free(run->workers[w].records.records, (size_t)run->problem.n_records * sizeof(hw_record_t));
    hw_pages_free(run->graph_tasks, tasks_bytes(run->problem.graph));
    if (run->problem.init != NULL)
        hw_pages_free(run->init_tasks, tasks_bytes(run->problem.init));
    hw_pages_free(run->rings, run->rings_bytes);
    free(run->iterations);
    free(run->workers);
    free(run);
}

hw_result_t hw_run_result(const hw_run_t *run)
{
    return (hw_result_t){
        .status = atomic_load(&run->team.status),
        .n_done = run->n_done,
        .is_tsc = run->clock.is_tsc,
        .ps_per_tick = hw_clock_ps_per_tick(&run->clock),
        .iterations = run->iterations,
    };
}

const hw_counters_t *hw_run_counters(const hw_run_t *run, int32_t worker)
{
    return &run->workers[worker].counters;
}

const hw_records_t *hw_run_records(const hw_run_t *run, int32_t worker)
{
    return &run->workers[worker].records;
}

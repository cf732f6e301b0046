/*
 * A worker's thread: iteration by iteration, task by task, until the run is over or stopped.
 *
 * Between iterations all workers meet twice. At the first barrier everybody has left the old iteration and the last one
 * sets up the new one; then each puts its share of the tasks that are ready into its own deque; after the second barrier
 * the iteration has begun. This is also how a run ends, so that all workers take part in every barrier.
 */
#include "run.h"

static bool is_stopped(const hw_run_t *run)
{
    /* Relaxed: it only has to be noticed some time. */
    return atomic_load_explicit(&run->is_stopped, memory_order_relaxed);
}

/* Ends the iteration before and sets up the next one; executed by one worker while all others wait. */
static void set_up(hw_run_t *run)
{
    const hw_problem_t *problem = &run->problem;
    if (run->graph != NULL && !is_stopped(run)) {
        int64_t first = INT64_MAX;
        for (int32_t w = 0; w < problem->n_workers; w++)
            if (run->workers[w].left_at < first)
                first = run->workers[w].left_at;
        run->iterations[run->n_done++].end_ticks = first;
    }
    run->is_over = is_stopped(run) || run->n_done == run->n_iterations;
    if (run->is_over)
        return;
    bool is_init = run->n_done == 0 && problem->init != NULL;
    run->graph = is_init ? problem->init : problem->graph;
    run->tasks = is_init ? run->init_tasks : run->graph_tasks;
    for (int32_t i = 0; problem->pools == HW_CENTRAL && i < run->graph->n_roots; i++)
        hw_queue_push(&run->queue, run->graph->roots[i]);
}

/* Takes part in the beginning of an iteration; false: there is none. */
static bool begin_iteration(hw_worker_t *worker)
{
    hw_run_t *run = worker->run;
    if (hw_barrier_arrive(&run->team.barrier)) {
        set_up(run);
        hw_barrier_open(&run->team.barrier);
    }
    if (run->is_over)
        return false;
    if (run->problem.pools == HW_DEQUES)
        for (int32_t i = worker->number; i < run->graph->n_roots; i += run->problem.n_workers)
            hw_deque_push(&worker->deque, run->graph->roots[i]);
    atomic_store_explicit(&worker->ended, 0, memory_order_relaxed); /* published by the barrier */
    worker->call.iteration = run->n_done + (run->problem.init == NULL);
    if (hw_barrier_arrive(&run->team.barrier)) {
        run->iterations[run->n_done].begin_ticks = hw_ticks(&run->clock);
        hw_barrier_open(&run->team.barrier);
    }
    hw_record(worker, run->iterations[run->n_done].begin_ticks, HW_ITERATION, run->n_done, 0);
    return true;
}

static bool has_ended(const hw_run_t *run)
{
    int64_t sum = 0;
    /* Relaxed: counters only grow, so a complete sum is one; the barrier orders everything else. */
    for (int32_t w = 0; w < run->problem.n_workers; w++)
        sum += atomic_load_explicit(&run->workers[w].ended, memory_order_relaxed);
    return sum == run->graph->n_tasks;
}

/* Notes that the worker has nothing to do, unless it had nothing before. */
static void park(hw_worker_t *worker, int64_t ticks)
{
    if (worker->is_idle)
        return;
    worker->is_idle = true;
    worker->idle_since = ticks;
    hw_record(worker, ticks, HW_PARK, HW_NONE, 0);
}

static void run_iteration(hw_worker_t *worker)
{
    hw_run_t *run = worker->run;
    uint32_t round = 0;
    while (!is_stopped(run)) {
        int64_t ticks;
        int32_t task = hw_acquire(worker, &ticks);
        if (task != HW_NONE) {
            hw_execute(worker, task, ticks);
            round = 0;
            continue;
        }
        if (has_ended(run))
            break;
        park(worker, hw_ticks(&run->clock));
        hw_back_off(round++);
    }
    worker->left_at = hw_ticks(&run->clock);
    park(worker, worker->left_at);
}

int hw_worker_main(hw_team_t *team, int32_t number, void *shared)
{
    hw_run_t *run = shared;
    hw_worker_t *worker = &run->workers[number];
    (void)team;
    hw_pages_touch(worker->records.records, (size_t)run->problem.n_expected * sizeof(hw_record_t));
    worker->is_idle = true;
    worker->idle_since = hw_ticks(&run->clock);
    worker->counters.events_error = hw_events_open(&worker->events);
    int64_t present_since = hw_monotonic_ns(), cpu_since = hw_thread_cpu_ns();
    while (begin_iteration(worker))
        run_iteration(worker);
    worker->counters.cpu_ns = hw_thread_cpu_ns() - cpu_since;
    worker->counters.present_ns = hw_monotonic_ns() - present_since;
    hw_events_finish(&worker->events, worker->counters.events);
    worker->counters.idle_ticks += worker->left_at > 0 ? worker->left_at - worker->idle_since : 0;
    return HW_OK;
}

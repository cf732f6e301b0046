/*
 * Inside of a run, shared by the files of the runtime: the workers and what they have in common.
 *
 * A worker's own part is written by its thread alone, except `ended`, which others read, and the deque, which others steal
 * from. Everything else in hw_run_t is constant while tasks run, or written by the last worker at a barrier.
 */
#ifndef HW_RUN_H
#define HW_RUN_H

#include "clock.h"
#include "deque.h"
#include "events.h"
#include "queue.h"
#include "random.h"
#include "runtime.h"
#include "team.h"

typedef struct {
    hw_deque_t deque;
    /* Tasks that this worker has ended in this iteration; the sum over all workers tells when it is over. */
    _Alignas(HW_LINE) _Atomic int64_t ended;
    _Alignas(HW_LINE) hw_run_t *run;
    int32_t number;
    bool is_idle;
    int64_t idle_since, left_at;
    hw_records_t records;
    hw_random_t random;
    hw_call_t call;
    hw_counters_t counters;
    hw_events_t events;
} hw_worker_t;

struct hw_run {
    hw_problem_t problem;
    hw_clock_t clock;
    hw_worker_t *workers;
    hw_task_t *init_tasks, *graph_tasks;
    void *rings; /* of all deques, or of the queue */
    size_t rings_bytes;
    int64_t ring_size;
    hw_iteration_t *iterations;
    int32_t n_iterations; /* with the initialisation */

    /* Of the present iteration; set at the barrier. */
    const hw_graph_t *graph;
    hw_task_t *tasks;
    int32_t n_done;
    bool is_over;

    hw_team_t team;
    hw_queue_t queue;
    _Alignas(HW_LINE) _Atomic bool is_stopped; /* read before every task, written at most once */
};

/* Records an event if there is a trace. */
static inline void hw_record(hw_worker_t *worker, int64_t ticks, uint32_t kind, int32_t task, int32_t argument)
{
    if (worker->records.capacity > 0)
        hw_records_add(&worker->records, ticks, kind, task, argument);
}

/* A time stamp if there is a trace, else 0. */
static inline int64_t hw_stamp(const hw_worker_t *worker)
{
    return worker->records.capacity > 0 ? hw_ticks(&worker->run->clock) : 0;
}

/* Pushes a ready task or a continuation; the record, with the given stamp, precedes it. */
void hw_push(hw_worker_t *worker, int32_t task, int64_t ticks);

/* Takes a task from the own pool or another; HW_NONE when there is none. Records the acquisition: *ticks is its stamp. */
int32_t hw_acquire(hw_worker_t *worker, int64_t *ticks);

/* Goes on with a task acquired at the given time, and with what follows from it on this worker. */
void hw_execute(hw_worker_t *worker, int32_t task, int64_t ticks);

/* What the worker of a number does; `shared` is the hw_run_t. */
int hw_worker_main(hw_team_t *team, int32_t number, void *shared);

#endif

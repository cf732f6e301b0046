/*
 * Pools: where workers push and how they search.
 */
#include "run.h"

void hw_push(hw_worker_t *worker, int32_t task, int64_t ticks)
{
    hw_record(worker, ticks, HW_READY, task, 0);
    if (worker->run->problem.pools == HW_CENTRAL)
        hw_queue_push(&worker->run->queue, task);
    else
        hw_deque_push(&worker->deque, task);
}

/* Takes from the own deque; an owner that takes the oldest is its own thief. */
static int32_t take_own(hw_worker_t *worker)
{
    int32_t task;
    if (worker->run->problem.own_take == HW_NEWEST)
        return hw_deque_take(&worker->deque);
    do {
        task = hw_deque_steal(&worker->deque);
    } while (task == HW_LOST);
    return task;
}

/*
 * Probes as many times as there are others, a random one each time (R. D. Blumofe, C. E. Leiserson, J. ACM 46(5), 1999);
 * *victim is whose deque the task was in.
 */
static int32_t steal(hw_worker_t *worker, int32_t *victim)
{
    int32_t n_others = worker->run->problem.n_workers - 1;
    for (int32_t probe = 0; probe < n_others; probe++) {
        int32_t drawn = hw_random_below(&worker->random, n_others);
        *victim = drawn + (drawn >= worker->number);
        int32_t task = hw_deque_steal(&worker->run->workers[*victim].deque);
        if (task >= 0) {
            worker->counters.steals++;
            return task;
        }
        if (task == HW_LOST)
            worker->counters.lost_races++;
        else
            worker->counters.empty_probes++;
    }
    return HW_NONE;
}

int32_t hw_acquire(hw_worker_t *worker, int64_t *ticks)
{
    int32_t from = worker->number, task;
    if (worker->run->problem.pools == HW_CENTRAL) {
        task = hw_queue_take(&worker->run->queue);
    } else {
        task = take_own(worker);
        if (task < 0)
            task = steal(worker, &from);
    }
    if (task < 0)
        return HW_NONE;
    if (worker->is_idle) {
        worker->is_idle = false;
        *ticks = hw_ticks(&worker->run->clock);
        worker->counters.idle_ticks += *ticks - worker->idle_since;
        hw_record(worker, *ticks, HW_WAKE, task, from);
    } else {
        *ticks = hw_stamp(worker);
        hw_record(worker, *ticks, HW_ACQUIRE, task, from);
    }
    return task;
}

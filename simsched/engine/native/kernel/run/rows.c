/*
 * Accesses that wait for the end of tasks; docs/semantics.md, rules L.
 *
 * A row is executed in the order (end_number of the awaited task, access). What has ended later comes later, so those
 * executed at the places so far are the first ones in this order, and the last of them tells what follows.
 */
#include "run/rows.h"

#include "run/run.h"
#include "run/worker.h"

/* The row of a worker's next place, as [*first_ret, *end_ret). */
static void find_row(const ssk_sim_t *sim, const ssk_worker_t *w, int64_t *first_ret, int64_t *end_ret)
{
    const int32_t *after = sim->graph.access_after;
    int64_t first = w->access, end = w->access + 1;
    while (first > w->access_end - w->n_accesses && after[first - 1] >= 0)
        first--;
    while (end < w->access_end && after[end] >= 0)
        end++;
    *first_ret = first;
    *end_ret = end;
}

int64_t ssk_next_in_row(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    const int32_t *after = sim->graph.access_after, *number = sim->tasks.end_number;
    if (after[w->access] < 0)
        return w->access;
    int64_t first, end, best = SSK_NONE;
    find_row(sim, w, &first, &end);
    bool is_first = w->access == first;
    for (int64_t i = first; i < end; i++) {
        int32_t at = number[after[i]], last = is_first ? SSK_NONE : number[after[w->executed]];
        if (at >= 0 && (at > last || (at == last && i > w->executed)) && (best == SSK_NONE || at < number[after[best]]))
            best = i;
    }
    return best;
}

int ssk_await_end(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const int32_t *after = sim->graph.access_after;
    int64_t first, end;
    find_row(sim, w, &first, &end);
    while (sim->tasks.end_number[after[first]] >= 0)
        first++;
    ssk_event(sim, SSK_TASK_AWAIT, worker, w->task, after[first], 0);
    w->state = SSK_AWAITING;
    sim->n_awaiting++;
    ssk_set_busy(sim, worker, false);
    return SSK_WAIT;
}

void ssk_stop_awaiting(ssk_sim_t *sim, int32_t worker)
{
    sim->workers[worker].state = SSK_PAYING;
    sim->n_awaiting--;
    ssk_set_busy(sim, worker, true);
}

void ssk_end_awaited(ssk_sim_t *sim, int32_t task)
{
    for (int32_t i = 0; i < sim->problem.n_workers; i++) {
        ssk_worker_t *w = &sim->workers[i];
        if (w->state != SSK_AWAITING)
            continue;
        int64_t first, end;
        find_row(sim, w, &first, &end);
        while (first < end && sim->graph.access_after[first] != task)
            first++;
        if (first == end)
            continue;
        ssk_stop_awaiting(sim, i);
        w->lag = sim->lag;
        w->then = SSK_ACT_ACCESS;
        ssk_timers_set(&sim->timers, i, sim->now);
    }
}

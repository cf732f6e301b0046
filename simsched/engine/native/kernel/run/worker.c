/*
 * Workers: their actions, and the sharing of a core.
 */
#include "run/worker.h"

#include "copies/gather.h"
#include "pools/search.h"
#include "run/iteration.h"
#include "run/life.h"
#include "run/run.h"
#include "run/segment.h"

static int step(ssk_sim_t *sim, int32_t worker, int action)
{
    switch (action) {
    case SSK_ACT_SEARCH: return ssk_search(sim, worker);
    case SSK_ACT_BEGIN: return ssk_begin_task(sim, worker);
    case SSK_ACT_ACCESS: return ssk_next_access(sim, worker);
    case SSK_ACT_FLOW: return ssk_next_flow(sim, worker);
    case SSK_ACT_SEGMENT_END: return ssk_segment_end(sim, worker);
    case SSK_ACT_SPAWN: return ssk_spawn(sim, worker);
    case SSK_ACT_CREATE: return ssk_create_child(sim, worker);
    case SSK_ACT_SYNC: return ssk_sync(sim, worker);
    case SSK_ACT_JOIN: return ssk_start_work(sim, worker);
    case SSK_ACT_END: return ssk_end_task(sim, worker);
    case SSK_ACT_COPY: return ssk_next_copy(sim, worker);
    case SSK_ACT_GATHERED: return ssk_gathered(sim, worker);
    case SSK_ACT_MOVE_READ: return ssk_read_moved(sim, worker);
    case SSK_ACT_MOVE_WRITE: return ssk_write_moved(sim, worker);
    case SSK_ACT_MOVE_END: return ssk_end_move(sim, worker);
    default: return SSK_ERR_INVARIANT;
    }
}

int ssk_worker_go(ssk_sim_t *sim, int32_t worker, int action)
{
    while (action > SSK_WAIT)
        action = step(sim, worker, action);
    return action;
}

/* The place of the cap of flows that start on a module now. */
static int32_t cap_level(const ssk_sim_t *sim, int32_t module)
{
    int32_t busy = sim->module_busy[module];
    return (busy < sim->problem.n_mates ? busy : sim->problem.n_mates) - 1;
}

int32_t ssk_flow_class(const ssk_sim_t *sim, int32_t worker, int32_t path)
{
    const ssk_problem_t *p = &sim->problem;
    return path * p->n_mates + cap_level(sim, p->worker_module[worker]);
}

/*
 * Lets the workers of a module go on whose speed or cap has changed, except two: those of a core whose busy workers have
 * changed, or all of them.
 */
static void adapt_others(ssk_sim_t *sim, int32_t module, int32_t core, int32_t level, int32_t first, int32_t second)
{
    bool all = cap_level(sim, module) != level;
    for (int32_t i = sim->module_ptr[module]; i < sim->module_ptr[module + 1]; i++) {
        int32_t other = sim->module_worker[i];
        const ssk_worker_t *w = &sim->workers[other];
        if (other == first || other == second || !(all || sim->problem.worker_core[other] == core))
            continue;
        if (w->state == SSK_EXECUTING)
            ssk_adapt(sim, other);
        else if (w->state == SSK_MOVING && w->flowing)
            ssk_resume_move(sim, other, ssk_halt_move(sim, other));
    }
}

/* Settles what a worker is in and stops its flow; returns the bytes that this has left. */
static double halt(ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    if (w->state == SSK_EXECUTING)
        return ssk_halt(sim, worker);
    return w->state == SSK_MOVING && w->flowing ? ssk_halt_move(sim, worker) : 0.0;
}

/* Puts a worker into the list of a module in the place of another one. */
static void replace(ssk_sim_t *sim, int32_t module, int32_t old, int32_t new)
{
    int32_t *list = sim->module_worker + sim->module_ptr[module];
    int32_t n = sim->module_ptr[module + 1] - sim->module_ptr[module], i = 0;
    while (list[i] != old)
        i++;
    for (; i > 0 && list[i - 1] > new; i--)
        list[i] = list[i - 1];
    for (; i + 1 < n && list[i + 1] < new; i++)
        list[i] = list[i + 1];
    list[i] = new;
}

void ssk_exchange(ssk_sim_t *sim, int32_t first, int32_t second, int64_t cost)
{
    const int32_t pair[2] = {first, second};
    const ssk_problem_t *p = &sim->problem;
    const int32_t cores[2] = {p->worker_core[first], p->worker_core[second]};
    const int32_t modules[2] = {p->worker_module[first], p->worker_module[second]};
    double left[2] = {0.0, 0.0};
    if (ssk_sim_has_failed_worker(sim, first) || ssk_sim_has_failed_worker(sim, second))
        return;
    ssk_event(sim, SSK_EXCHANGE, SSK_NONE, SSK_NONE, first, second);
    sim->counters.exchanges++;
    if (cores[0] == cores[1])
        return;
    for (int i = 0; i < 2; i++)
        left[i] = halt(sim, pair[i]);
    ssk_seats_swap(&sim->seats, &sim->problem, first, second);
    if (modules[0] != modules[1]) {
        replace(sim, modules[0], first, second);
        replace(sim, modules[1], second, first);
    }
    int32_t change = sim->workers[second].busy - sim->workers[first].busy;
    if (change != 0) {
        const int32_t levels[2] = {cap_level(sim, modules[0]), cap_level(sim, modules[1])};
        sim->core_busy[cores[0]] += change;
        sim->core_busy[cores[1]] -= change;
        sim->module_busy[modules[0]] += change;
        sim->module_busy[modules[1]] -= change;
        for (int i = 0; i < 2; i++)
            adapt_others(sim, modules[i], cores[i], levels[i], first, second);
    }
    for (int i = 0; i < 2; i++) {
        const ssk_worker_t *w = &sim->workers[pair[i]];
        if (w->state == SSK_EXECUTING)
            ssk_go_on(sim, pair[i], left[i], cost);
        else if (w->state == SSK_MOVING && w->flowing)
            ssk_resume_move(sim, pair[i], left[i]);
    }
}

void ssk_set_pace(ssk_sim_t *sim, int32_t worker, int32_t billionths)
{
    bool is_executing = sim->workers[worker].state == SSK_EXECUTING;
    double left = is_executing ? ssk_halt(sim, worker) : 0.0;
    sim->pace[worker] = (double)billionths / SSK_WHOLE_PACE;
    ssk_event(sim, SSK_PACE, worker, SSK_NONE, billionths, 0);
    if (is_executing)
        ssk_go_on(sim, worker, left, 0);
}

void ssk_set_busy(ssk_sim_t *sim, int32_t worker, bool busy)
{
    int32_t core = sim->problem.worker_core[worker], module = sim->problem.worker_module[worker];
    if (sim->workers[worker].busy == busy)
        return;
    int32_t level = cap_level(sim, module);
    sim->workers[worker].busy = busy;
    sim->core_busy[core] += busy ? 1 : -1;
    sim->module_busy[module] += busy ? 1 : -1;
    adapt_others(sim, module, core, level, worker, worker);
}

void ssk_set_parked(ssk_sim_t *sim, int32_t worker, bool parked)
{
    int32_t change = ssk_set_has(sim->routes.active, worker);
    if (parked) {
        sim->workers[worker].state = SSK_PARKED;
        ssk_set_add(sim->parked, worker);
        sim->n_parked += change;
    } else {
        sim->workers[worker].state = SSK_PAYING;
        ssk_set_remove(sim->parked, worker);
        sim->n_parked -= change;
    }
}

/*
 * Changes of conditions; docs/semantics.md, rules CC.
 *
 * All of it is rare: it is marked as such, so that compilers do not take room from what happens at every event.
 */
#include "run/conditions.h"

#include "pools/search.h"
#include "run/decisions.h"
#include "run/executions.h"
#include "run/run.h"
#include "run/segment.h"
#include "run/worker.h"

int ssk_conditions_alloc(ssk_conditions_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    size_t n_workers = (size_t)problem->n_workers, n_smt = (size_t)problem->n_smt;
    if (problem->n_changes == 0)
        return SSK_OK;
    self->described = ssk_new(allocator, (size_t)problem->n_cores * n_smt, sizeof(*self->described));
    self->failed = ssk_new(allocator, n_workers, sizeof(*self->failed));
    self->fails_now = ssk_new(allocator, n_workers, sizeof(*self->fails_now));
    self->were_heads = ssk_new(allocator, n_workers, sizeof(*self->were_heads));
    self->lost = ssk_new(allocator, n_workers, sizeof(*self->lost));
    if (!self->described || !self->failed || !self->fails_now || !self->were_heads || !self->lost)
        return SSK_ERR_MEMORY;
    for (size_t w = n_workers; w-- > 0;)
        memcpy(self->described + (size_t)problem->worker_core[w] * n_smt, problem->worker_rate + w * n_smt,
               n_smt * sizeof(*self->described));
    return SSK_OK;
}

void ssk_conditions_free(ssk_conditions_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->described);
    ssk_delete(allocator, self->failed);
    ssk_delete(allocator, self->fails_now);
    ssk_delete(allocator, self->were_heads);
    ssk_delete(allocator, self->lost);
}

void ssk_schedule_change(ssk_sim_t *sim)
{
    int32_t next = sim->conditions.next;
    ssk_set_rare(sim, SSK_RARE_CHANGE, next < sim->problem.n_changes ? sim->problem.change_ps[next] : SSK_NO_TIMER);
}

bool ssk_is_dead(const ssk_sim_t *sim, int32_t group, int32_t instance)
{
    const int32_t *own = sim->routes.scope[sim->plan.group_scope[group]].own;
    bool has_failed = false;
    for (int32_t w = 0; w < sim->problem.n_workers; w++) {
        if (own[w] != instance)
            continue;
        if (ssk_set_has(sim->routes.active, w))
            return false;
        has_failed = has_failed || sim->conditions.failed[w];
    }
    return has_failed;
}

static bool is_concerned(const ssk_sim_t *sim, int32_t change, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    return p->change_core[(size_t)change * (size_t)p->n_cores + (size_t)p->worker_core[worker]];
}

SSK_COLD static void change_speed(ssk_sim_t *sim, int32_t change, double speed)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_event(sim, SSK_SPEED, SSK_NONE, SSK_NONE, change, (int64_t)(speed * 1e6));
    for (int32_t w = 0; w < p->n_workers; w++)
        for (int32_t k = 0; is_concerned(sim, change, w) && k < p->n_smt; k++)
            sim->seats.rate[w * p->n_smt + k] = speed * sim->conditions.described[p->worker_core[w] * p->n_smt + k];
    for (int32_t w = 0; w < p->n_workers; w++)
        if (is_concerned(sim, change, w) && sim->workers[w].state == SSK_EXECUTING)
            ssk_adapt(sim, w);
}

SSK_COLD void ssk_deactivate(ssk_sim_t *sim, int32_t worker)
{
    bool is_parked = ssk_set_has(sim->parked, worker);
    if (is_parked)
        ssk_set_parked(sim, worker, false);
    ssk_routes_remove(&sim->routes, worker);
    if (is_parked)
        ssk_set_parked(sim, worker, true);
    sim->roots_placed = 0;
}

/* Lets a worker fail; returns the task that nobody executes any more, or SSK_NONE. */
SSK_COLD static int32_t fail_worker(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int32_t lost = SSK_NONE;
    ssk_event(sim, SSK_FAILURE, worker, SSK_NONE, 0, 0);
    if (w->state != SSK_COPYING) {
        if (w->state != SSK_PARKED && w->task != SSK_NONE)
            lost = ssk_lose_by_failure(sim, worker);
        if (w->state != SSK_PARKED) {
            ssk_timers_set(&sim->timers, worker, SSK_NO_TIMER);
            ssk_set_parked(sim, worker, true);
        }
        ssk_set_busy(sim, worker, false);
    }
    sim->conditions.failed[worker] = 1;
    sim->conditions.n_failed++;
    ssk_deactivate(sim, worker);
    return lost;
}

/* Pushes anew the entries of those of a failed worker's own pools that nobody is left to own. */
SSK_COLD static int empty_dead_pools(ssk_sim_t *sim, int32_t worker)
{
    for (int32_t group = 0; group < sim->plan.n_groups; group++) {
        int32_t instance = sim->routes.scope[sim->plan.group_scope[group]].own[worker];
        if (instance < 0 || !ssk_is_dead(sim, group, instance))
            continue;
        ssk_pool_t *pool = ssk_pools_at(&sim->pools, group, instance);
        /* on_ready may send others of them elsewhere meanwhile; without an active worker they come back. */
        for (uint32_t n = pool->count; n > 0 && pool->count > 0; n--) {
            int32_t task = ssk_pools_take(&sim->pools, group, pool, false);
            int status = ssk_push_back(sim, task, SSK_NONE);
            if (status != SSK_OK)
                return status;
        }
    }
    return SSK_OK;
}

/* Wakes the workers that have become heads since these were. */
SSK_COLD static void wake_new_heads(ssk_sim_t *sim)
{
    for (int32_t w = 0; w < sim->problem.n_workers; w++)
        if (ssk_set_has(sim->routes.heads, w) && !sim->conditions.were_heads[w] && sim->workers[w].state == SSK_PARKED)
            ssk_wake(sim, w, 1);
}

SSK_COLD static int fail_workers(ssk_sim_t *sim, int32_t change)
{
    ssk_conditions_t *c = &sim->conditions;
    int32_t n = sim->problem.n_workers, n_lost = 0;
    int status = SSK_OK;
    for (int32_t w = 0; w < n; w++) {
        c->fails_now[w] = is_concerned(sim, change, w) && !c->failed[w];
        c->were_heads[w] = ssk_set_has(sim->routes.heads, w);
    }
    for (int32_t w = 0; w < n; w++) {
        int32_t task = c->fails_now[w] ? fail_worker(sim, w) : SSK_NONE;
        if (task != SSK_NONE)
            c->lost[n_lost++] = task;
    }
    /* Between iterations there is nothing to push. */
    for (int32_t i = 0; i < n_lost && status == SSK_OK; i++) {
        ssk_release_domain(sim, c->lost[i]);
        status = ssk_push_back(sim, c->lost[i], SSK_NONE);
    }
    for (int32_t w = 0; w < n && status == SSK_OK; w++)
        if (c->fails_now[w])
            status = empty_dead_pools(sim, w);
    for (int32_t w = 0; w < n && status == SSK_OK; w++)
        if (c->fails_now[w])
            ssk_pass_on(sim, w);
    if (status == SSK_OK && sim->phase == SSK_PHASE_TASKS)
        wake_new_heads(sim);
    return status;
}

SSK_COLD int ssk_change_conditions(ssk_sim_t *sim)
{
    int32_t change = sim->conditions.next++;
    double speed = sim->problem.change_speed[change];
    ssk_schedule_change(sim);
    if (speed == 0.0)
        return fail_workers(sim, change);
    change_speed(sim, change, speed);
    return SSK_OK;
}

int ssk_sim_has_failed_worker(const ssk_sim_t *sim, int32_t worker)
{
    return worker >= 0 && worker < sim->problem.n_workers && sim->conditions.n_failed > 0 &&
           sim->conditions.failed[worker];
}

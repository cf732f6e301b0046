#include "run/moves.h"

#include "memory/homes.h"
#include "pools/search.h"
#include "run/decisions.h"
#include "run/iteration.h"
#include "run/run.h"
#include "run/worker.h"

int ssk_moves_alloc(ssk_moves_t *self, const ssk_allocator_t *allocator, int32_t n_workers)
{
    self->unused = SSK_NONE;
    self->first = ssk_new(allocator, (size_t)n_workers, sizeof(*self->first));
    self->last = ssk_new(allocator, (size_t)n_workers, sizeof(*self->last));
    if (!self->first || !self->last)
        return SSK_ERR_MEMORY;
    for (int32_t w = 0; w < n_workers; w++)
        self->first[w] = SSK_NONE;
    return SSK_OK;
}

void ssk_moves_free(ssk_moves_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->entries);
    ssk_delete(allocator, self->first);
    ssk_delete(allocator, self->last);
}

int ssk_moves_verify(const ssk_moves_t *self, int32_t n_workers)
{
    size_t n_queued = 0, n_unused = 0;
    for (int32_t w = 0; w < n_workers; w++)
        for (int32_t i = self->first[w]; i != SSK_NONE && n_queued <= self->n_entries; i = self->entries[i].next)
            n_queued++;
    for (int32_t i = self->unused; i != SSK_NONE && n_unused <= self->n_entries; i = self->entries[i].next)
        n_unused++;
    bool is_sound = n_queued == (size_t)self->n_left && n_queued + n_unused == self->n_entries;
    return is_sound ? SSK_OK : SSK_ERR_INVARIANT;
}

int ssk_add_move(ssk_sim_t *sim, int32_t worker, int32_t block, int32_t node, int64_t cost, int64_t tag)
{
    ssk_moves_t *self = &sim->moves;
    int32_t added = self->unused;
    if (sim->phase != SSK_PHASE_TASKS)
        return SSK_OK;
    if (added == SSK_NONE) {
        int status = ssk_grow(&sim->allocator, &self->entries, &self->capacity, self->n_entries + 1, sizeof(*self->entries));
        if (status != SSK_OK)
            return status;
        added = (int32_t)self->n_entries++;
    } else {
        self->unused = self->entries[added].next;
    }
    ssk_move_t move = {.cost = cost, .tag = tag, .block = block, .node = node, .next = SSK_NONE};
    self->entries[added] = move;
    if (self->first[worker] == SSK_NONE)
        self->first[worker] = added;
    else
        self->entries[self->last[worker]].next = added;
    self->last[worker] = added;
    self->n_left++;
    if (sim->workers[worker].state == SSK_PARKED)
        ssk_wake(sim, worker, 1);
    return SSK_OK;
}

/* The move that a worker carries out. */
static const ssk_move_t *present(const ssk_sim_t *sim, int32_t worker)
{
    return &sim->moves.entries[sim->moves.first[worker]];
}

/* Takes a worker's first move out of its queue, tells the policy that it is over, and ends the iteration if all is. */
static int conclude(ssk_sim_t *sim, int32_t worker)
{
    ssk_moves_t *self = &sim->moves;
    int32_t over = self->first[worker];
    int64_t tag = self->entries[over].tag;
    self->first[worker] = self->entries[over].next;
    self->entries[over].next = self->unused;
    self->unused = over;
    self->n_left--;
    int status = ssk_tell_on_wake(sim, tag);
    if (status != SSK_OK)
        return status;
    ssk_end_iteration_if_done(sim);
    return SSK_ACT_SEARCH;
}

int ssk_begin_move(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_move_t *move = present(sim, worker);
    int32_t source = sim->home[move->block];
    if (source == SSK_NONE || source == move->node)
        return conclude(sim, worker);
    int status = ssk_check_room(sim, move->node, move->block);
    if (status != SSK_OK)
        return status;
    ssk_take_memory(sim, move->node, move->block);
    ssk_set_busy(sim, worker, true);
    w->state = SSK_MOVING;
    w->start = sim->now;
    w->node = source;
    ssk_event(sim, SSK_MIGRATE_START, worker, SSK_NONE, move->block, ((int64_t)source << 32) + move->node);
    return ssk_pay(sim, worker, move->cost, SSK_ACT_MOVE_READ);
}

/* The path of the flow of a worker's move: that of reads as long as the block is still to be written. */
static int32_t present_path(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    const ssk_worker_t *w = &sim->workers[worker];
    const int32_t *path = w->then == SSK_ACT_MOVE_WRITE ? p->path_access : p->path_write;
    return path[p->worker_domain[worker] * p->n_nodes + w->node];
}

/* Reads or writes the whole block of a worker's move on a node; `then` is what follows. */
static int stream(ssk_sim_t *sim, int32_t worker, int32_t node, int then)
{
    ssk_worker_t *w = &sim->workers[worker];
    int64_t size = sim->problem.block_bytes[present(sim, worker)->block];
    if (size == 0)
        return then;
    w->node = node;
    w->then = (uint8_t)then;
    w->flow_path = present_path(sim, worker);
    w->flowing = true;
    ssk_flows_start(&sim->flows, worker, ssk_flow_class(sim, worker, w->flow_path), (double)size, sim->now, w->lag);
    return SSK_WAIT;
}

int ssk_read_moved(ssk_sim_t *sim, int32_t worker)
{
    return stream(sim, worker, sim->workers[worker].node, SSK_ACT_MOVE_WRITE);
}

int ssk_write_moved(ssk_sim_t *sim, int32_t worker)
{
    return stream(sim, worker, present(sim, worker)->node, SSK_ACT_MOVE_END);
}

int ssk_move_flow_ended(ssk_sim_t *sim, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_worker_t *w = &sim->workers[worker];
    int64_t size = p->block_bytes[present(sim, worker)->block];
    sim->path_bytes[w->flow_path] += size;
    sim->node_bytes_now[p->worker_domain[worker] * p->n_nodes + w->node] += size;
    w->flowing = false;
    return w->then;
}

int ssk_end_move(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int32_t block = present(sim, worker)->block, node = present(sim, worker)->node;
    if (sim->home[block] != SSK_NONE)
        ssk_give_memory_back(sim, sim->home[block], block);
    sim->home[block] = node;
    ssk_event(sim, SSK_MIGRATE_END, worker, SSK_NONE, block, node);
    sim->counters.migrations++;
    sim->counters.migrated_bytes += sim->problem.block_bytes[block];
    w->counters.migrate_ps += sim->now - w->start;
    sim->counters.move_ps += sim->now - w->start;
    w->state = SSK_PAYING;
    return conclude(sim, worker);
}

double ssk_halt_move(ssk_sim_t *sim, int32_t worker)
{
    return ssk_flows_stop(&sim->flows, worker, sim->now, sim->lag);
}

void ssk_resume_move(ssk_sim_t *sim, int32_t worker, double left)
{
    int32_t path = present_path(sim, worker);
    sim->workers[worker].flow_path = path;
    ssk_flows_start(&sim->flows, worker, ssk_flow_class(sim, worker, path), left, sim->now, sim->lag);
}

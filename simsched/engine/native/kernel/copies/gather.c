/*
 * Bringing the blocks of a task to its worker: claims, turns, what tasks write; docs/semantics.md, rules CD.
 *
 * A worker claims the blocks of a body or join, waits for those that are read and not valid on its node, then makes
 * those that it writes valid there only, computes, and gives its claims back. The copies are in copying.c. State: copies.h.
 */
#include "copies/gather.h"

#include "copies/copying.h"
#include "run/decisions.h"
#include "run/run.h"
#include "run/segment.h"

/* Looks at access i of first .. last - 1: false when an earlier one has its block, else what all of them do to it. */
static bool first_of_block(const ssk_sim_t *sim, int64_t first, int64_t last, int64_t i, bool *reads_ret,
                           bool *writes_ret)
{
    const ssk_graph_t *graph = &sim->graph;
    int32_t block = graph->access_block[i];
    for (int64_t j = first; j < i; j++)
        if (graph->access_block[j] == block)
            return false;
    *reads_ret = *writes_ret = false;
    for (int64_t j = i; j < last; j++) {
        if (graph->access_block[j] == block) {
            *reads_ret = *reads_ret || graph->read_bytes[j] > 0;
            *writes_ret = *writes_ret || graph->written_bytes[j] > 0;
        }
    }
    return true;
}

/* Lets a worker wait for a place. */
static int await(ssk_sim_t *sim, int32_t worker, int64_t place)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t entry = copies->free_waiter;
    if (entry == SSK_NONE) {
        int status = ssk_grow(&sim->allocator, &copies->waiters, &copies->waiters_capacity,
                              (size_t)copies->n_waiters + 1, sizeof(*copies->waiters));
        if (status != SSK_OK)
            return ssk_fail(sim, status);
        entry = copies->n_waiters++;
    } else {
        copies->free_waiter = copies->waiters[entry].next;
    }
    copies->waiters[entry] = (ssk_waiter_t){worker, copies->waiter_of[place]};
    copies->waiter_of[place] = entry;
    copies->missing[worker]++;
    return SSK_OK;
}

/* Notes that a worker has one thing less to wait for. */
void ssk_has_come(ssk_sim_t *sim, int32_t worker)
{
    if (--sim->copies.missing[worker] > 0 || sim->workers[worker].state != SSK_GATHERING)
        return;
    sim->workers[worker].lag = sim->lag;
    ssk_timers_set(&sim->timers, worker, sim->now);
}

/* Refuses accesses whose blocks do not fit into a node's memory together. */
static int check_size(ssk_sim_t *sim, int64_t first, int64_t last, int32_t node)
{
    int64_t total = 0;
    bool reads, writes;
    for (int64_t i = first; i < last; i++)
        if (first_of_block(sim, first, last, i, &reads, &writes))
            total += sim->problem.block_bytes[sim->graph.access_block[i]];
    if (total <= sim->problem.node_capacity_bytes[node])
        return SSK_OK;
    sim->failure.bytes = total;
    sim->failure.node = node;
    return ssk_fail(sim, SSK_ERR_TOO_LARGE);
}

/* Bytes of the blocks that a worker's body or join would claim in addition to those claimed on its node. */
static int64_t more_claimed(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    const ssk_copies_t *copies = &sim->copies;
    int64_t more = 0;
    bool reads, writes;
    for (int64_t i = w->access; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        if (first_of_block(sim, w->access, w->access_end, i, &reads, &writes) &&
            copies->claims[ssk_place(copies, block, sim->problem.worker_node[worker])] == 0)
            more += sim->problem.block_bytes[block];
    }
    return more;
}

/* Claims the blocks of a worker's body or join. */
static int claim(ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    ssk_copies_t *copies = &sim->copies;
    int32_t node = sim->problem.worker_node[worker];
    bool reads, writes;
    copies->claimed_bytes[node] += more_claimed(sim, worker);
    for (int64_t i = w->access; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        int64_t place = ssk_place(copies, block, node);
        if (!first_of_block(sim, w->access, w->access_end, i, &reads, &writes))
            continue;
        copies->claims[place]++;
        ssk_use_copy(copies, place);
        if (ssk_is_valid(copies, block, node) && copies->is_fresh[place] == SSK_NOT_FRESH)
            continue;
        int what = reads && copies->valid[block] != 0 ? SSK_WANTED_COPY : SSK_WANTED_ROOM;
        int status = SSK_OK;
        if (!ssk_is_valid(copies, block, node))
            status = ssk_want(sim, what, (ssk_want_t){place, SSK_URGENT, 0});
        if (status == SSK_OK)
            status = await(sim, worker, place);
        if (status != SSK_OK)
            return status;
    }
    ssk_has_come(sim, worker);
    return SSK_OK;
}

/* Lets those whose turn it is claim their blocks, as long as all claimed ones fit. */
static int admit(ssk_sim_t *sim, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    while (copies->turn_head[node] != SSK_NONE) {
        int32_t worker = copies->turn_head[node];
        if (copies->claimed_bytes[node] + more_claimed(sim, worker) > sim->problem.node_capacity_bytes[node])
            return SSK_OK;
        copies->turn_head[node] = copies->turn_next[worker];
        if (copies->turn_head[node] == SSK_NONE)
            copies->turn_tail[node] = SSK_NONE;
        int status = claim(sim, worker);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

/* Puts a worker behind those that wait for their turn to claim. */
static void queue_up(ssk_copies_t *copies, int32_t worker, int32_t node)
{
    copies->missing[worker] = 1;
    copies->turn_next[worker] = SSK_NONE;
    if (copies->turn_tail[node] == SSK_NONE)
        copies->turn_head[node] = worker;
    else
        copies->turn_next[copies->turn_tail[node]] = worker;
    copies->turn_tail[node] = worker;
}

int ssk_gather(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_graph_t *graph = &sim->graph;
    int32_t node = sim->problem.worker_node[worker];
    w->start = sim->now;
    for (int64_t i = w->access; i < w->access_end; i++)
        sim->counters.requested_bytes += graph->read_bytes[i] + graph->written_bytes[i];
    int status = check_size(sim, w->access, w->access_end, node);
    if (status != SSK_OK)
        return status;
    queue_up(&sim->copies, worker, node);
    status = admit(sim, node);
    if (status == SSK_OK)
        status = ssk_start_copies(sim);
    if (status != SSK_OK)
        return status;
    if (sim->copies.missing[worker] == 0)
        return SSK_ACT_GATHERED;
    w->then = SSK_ACT_GATHERED;
    w->state = SSK_GATHERING;
    return SSK_WAIT;
}

/* Notes that a copy is stale if it is one of a block that has been written, to where nobody uses it. */
static void outdate(ssk_copies_t *copies, ssk_copy_t *copy, int32_t block)
{
    if (copy->block != block || copy->is_stale || copies->claims[ssk_place(copies, block, copy->target)] > 0)
        return;
    copy->is_stale = true;
    copies->n_coming[ssk_place(copies, block, copy->target)]--;
}

/* Makes a block that is written valid on one node, and on those where others use it. */
static void take_over(ssk_sim_t *sim, int32_t block, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    for (int32_t other = 0; other < copies->n_nodes; other++)
        if (other != node && ssk_is_valid(copies, block, other) && copies->claims[ssk_place(copies, block, other)] == 0)
            ssk_drop_copy(sim, block, other);
    sim->home[block] = node;
    for (int32_t lane = 0; lane < copies->n_nodes * copies->n_nodes; lane++)
        outdate(copies, &copies->lane[lane], block);
    for (size_t i = 0; i < copies->n_waiting; i++)
        outdate(copies, &copies->handed[i], block);
    for (int32_t device = 0; device < copies->n_nodes; device++) {
        outdate(copies, &sim->drivers.preparing[device], block);
        for (size_t i = 0; i < copies->ended[device].n; i++)
            outdate(copies, &copies->ended[device].copies[i], block);
    }
}

int ssk_gathered(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    bool reads, writes;
    w->counters.migrate_ps += sim->now - w->start;
    w->state = SSK_PAYING;
    for (int64_t i = w->access; i < w->access_end; i++)
        if (first_of_block(sim, w->access, w->access_end, i, &reads, &writes) && writes)
            take_over(sim, sim->graph.access_block[i], sim->problem.worker_node[worker]);
    w->claimed = w->access;
    w->access = w->access_end;
    int status = sim->tasks.phase[w->task] == SSK_TASK_BODY ? ssk_tell_on_start(sim, worker) : SSK_OK;
    return status == SSK_OK ? ssk_compute(sim, worker) : status;
}

/* Asks for a block that nobody writes any more on the host. */
static int bring_back(ssk_sim_t *sim, int32_t block)
{
    int32_t host = ssk_host_for(sim, SSK_NONE);
    if (host == SSK_NONE)
        return SSK_OK;
    return ssk_want(sim, SSK_WANTED_COPY, (ssk_want_t){ssk_place(&sim->copies, block, host), SSK_BRING_BACK, 0});
}

int ssk_give_back(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    ssk_copies_t *copies = &sim->copies;
    int32_t node = sim->problem.worker_node[worker];
    const uint8_t *is_final = sim->graph.access_final;
    bool reads, writes;
    int status = SSK_OK;
    for (int64_t i = w->claimed; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        if (first_of_block(sim, w->claimed, w->access_end, i, &reads, &writes) &&
            --copies->claims[ssk_place(copies, block, node)] == 0)
            copies->claimed_bytes[node] -= sim->problem.block_bytes[block];
    }
    for (int64_t i = w->claimed; i < w->access_end && is_final != NULL && status == SSK_OK; i++)
        if (is_final[i])
            status = bring_back(sim, sim->graph.access_block[i]);
    w->claimed = w->access_end;
    if (status == SSK_OK)
        status = admit(sim, node);
    return status == SSK_OK ? ssk_start_copies(sim) : status;
}

int ssk_prefetch(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker)
{
    const ssk_copies_t *copies = &sim->copies;
    int32_t rank = group == 0 ? SSK_URGENT : SSK_PREFETCH;
    bool by_priority = rank == SSK_PREFETCH && sim->plan.group_prefetches[group] == SSK_BY_PRIORITY && sim->graph.priority != NULL;
    int32_t priority = by_priority ? sim->graph.priority[task] : 0;
    int32_t node = sim->problem.worker_node[worker];
    int64_t first = sim->graph.access_ptr[task], last = sim->graph.join_access[task];
    bool reads, writes;
    int status = SSK_OK;
    for (int64_t i = first; i < last && status == SSK_OK; i++) {
        int32_t block = sim->graph.access_block[i];
        if (!first_of_block(sim, first, last, i, &reads, &writes))
            continue;
        int what = reads && copies->valid[block] != 0 ? SSK_WANTED_COPY : SSK_WANTED_ROOM;
        status = ssk_want(sim, what, (ssk_want_t){ssk_place(copies, block, node), rank, priority});
    }
    return status == SSK_OK ? ssk_start_copies(sim) : status;
}


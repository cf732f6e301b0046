/*
 * Bringing the blocks of a task to its worker: claims, turns, what tasks write; docs/semantics.md, rules CD.
 *
 * A worker claims the blocks of a body or join, waits for those that are valid in no space that it reaches, then makes
 * those that it writes valid there only, computes, and gives its claims back. The copies are in copying.c. State: copies.h.
 */
#include "copies/gather.h"

#include "copies/copying.h"
#include "copies/rooms.h"
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

/* The space where a worker uses a block: one that it reaches where the block is, else its own. */
static int32_t space_for(const ssk_sim_t *sim, int32_t block, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    const uint8_t *reaches = p->domain_reaches + (int64_t)p->worker_domain[worker] * p->n_spaces;
    int32_t own = p->worker_space[worker];
    if (ssk_is_valid(&sim->copies, block, own))
        return own;
    for (int32_t space = 0; space < p->n_spaces; space++)
        if (reaches[space] && ssk_is_valid(&sim->copies, block, space))
            return space;
    return own;
}

/* Notes in which space a worker uses a block that it has claimed. */
static int note_use(ssk_sim_t *sim, int32_t worker, ssk_use_t use)
{
    ssk_uses_t *used = &sim->copies.used[worker];
    int status = ssk_grow(&sim->allocator, &used->uses, &used->capacity, used->n + 1, sizeof(*used->uses));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    used->uses[used->n++] = use;
    return SSK_OK;
}

/* The place where a worker uses a block that it has claimed. */
static int64_t used_place(const ssk_sim_t *sim, int32_t block, int32_t worker)
{
    const ssk_use_t *use = sim->copies.used[worker].uses;
    while (use->block != block)
        use++;
    return ssk_place(&sim->copies, block, use->space);
}

int32_t ssk_used_node(const ssk_sim_t *sim, int32_t block, int32_t worker)
{
    return sim->copies.node_at[used_place(sim, block, worker)];
}

/* Refuses accesses whose blocks do not fit into a space together. */
static int check_size(ssk_sim_t *sim, int32_t worker, int32_t space)
{
    const ssk_worker_t *w = &sim->workers[worker];
    int64_t total = 0;
    bool reads, writes;
    for (int64_t i = w->access; i < w->access_end; i++)
        if (first_of_block(sim, w->access, w->access_end, i, &reads, &writes) &&
            space_for(sim, sim->graph.access_block[i], worker) == space)
            total += sim->problem.block_bytes[sim->graph.access_block[i]];
    if (total <= sim->copies.capacity[space])
        return SSK_OK;
    sim->failure.bytes = total;
    sim->failure.node = space;
    return ssk_fail(sim, SSK_ERR_TOO_LARGE);
}

/* Bytes of the blocks that a worker's body or join would claim in addition to those claimed in its space. */
static int64_t more_claimed(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    const ssk_copies_t *copies = &sim->copies;
    int32_t own = sim->problem.worker_space[worker];
    int64_t more = 0;
    bool reads, writes;
    for (int64_t i = w->access; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        if (first_of_block(sim, w->access, w->access_end, i, &reads, &writes) &&
            space_for(sim, block, worker) == own && copies->claims[ssk_place(copies, block, own)] == 0)
            more += sim->problem.block_bytes[block];
    }
    return more;
}

/* Claims the blocks of a worker's body or join. */
static int claim(ssk_sim_t *sim, int32_t worker)
{
    const ssk_worker_t *w = &sim->workers[worker];
    ssk_copies_t *copies = &sim->copies;
    int32_t near = sim->problem.worker_domain[worker];
    bool reads, writes;
    for (int64_t i = w->access; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        if (!first_of_block(sim, w->access, w->access_end, i, &reads, &writes))
            continue;
        int32_t space = space_for(sim, block, worker);
        int64_t place = ssk_place(copies, block, space);
        bool is_valid = ssk_is_valid(copies, block, space);
        int status = note_use(sim, worker, (ssk_use_t){block, space});
        if (copies->claims[place]++ == 0)
            copies->claimed_bytes[space] += sim->problem.block_bytes[block];
        ssk_use_copy(copies, place);
        int what = reads && copies->valid[block] != 0 ? SSK_WANTED_COPY : SSK_WANTED_ROOM;
        if (status == SSK_OK && !is_valid)
            status = ssk_want(sim, what, (ssk_want_t){place, SSK_URGENT, 0, near});
        if (status == SSK_OK && !(is_valid && copies->is_fresh[place] == SSK_NOT_FRESH))
            status = await(sim, worker, place);
        if (status != SSK_OK)
            return status;
    }
    ssk_has_come(sim, worker);
    return SSK_OK;
}

/* Lets those whose turn it is claim their blocks, as long as all claimed ones fit. */
static int admit(ssk_sim_t *sim, int32_t space)
{
    ssk_copies_t *copies = &sim->copies;
    while (copies->turn_head[space] != SSK_NONE) {
        int32_t worker = copies->turn_head[space];
        if (copies->claimed_bytes[space] + more_claimed(sim, worker) > copies->capacity[space])
            return SSK_OK;
        copies->turn_head[space] = copies->turn_next[worker];
        if (copies->turn_head[space] == SSK_NONE)
            copies->turn_tail[space] = SSK_NONE;
        int status = claim(sim, worker);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

/* Puts a worker behind those that wait for their turn to claim. */
static void queue_up(ssk_copies_t *copies, int32_t worker, int32_t space)
{
    copies->missing[worker] = 1;
    copies->turn_next[worker] = SSK_NONE;
    if (copies->turn_tail[space] == SSK_NONE)
        copies->turn_head[space] = worker;
    else
        copies->turn_next[copies->turn_tail[space]] = worker;
    copies->turn_tail[space] = worker;
}

int ssk_gather(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    int32_t space = sim->problem.worker_space[worker];
    w->start = sim->now;
    int status = check_size(sim, worker, space);
    if (status != SSK_OK)
        return status;
    queue_up(&sim->copies, worker, space);
    status = admit(sim, space);
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

/* Makes a block that is written valid at one place, and in those spaces where others use it. */
static void take_over(ssk_sim_t *sim, int32_t block, int64_t place)
{
    ssk_copies_t *copies = &sim->copies;
    for (int32_t other = 0; other < copies->n_spaces; other++) {
        int64_t there = ssk_place(copies, block, other);
        if (there != place && ssk_is_valid(copies, block, other) && copies->claims[there] == 0)
            ssk_drop_copy(sim, block, other);
    }
    sim->home[block] = copies->node_at[place];
    for (int32_t lane = 0; lane < copies->n_spaces * copies->n_spaces; lane++)
        outdate(copies, &copies->lane[lane], block);
    for (size_t i = 0; i < copies->n_waiting; i++)
        outdate(copies, &copies->handed[i], block);
    for (int32_t device = 0; device < copies->n_spaces; device++) {
        outdate(copies, &sim->drivers.preparing[device], block);
        for (size_t i = 0; i < copies->ended[device].n; i++)
            outdate(copies, &copies->ended[device].copies[i], block);
    }
}

/* Lets the driver of a worker's device wait for one more, or one less, kernel of its task. */
static void await_kernel(ssk_sim_t *sim, int32_t worker, int32_t change)
{
    const uint8_t *synchronous = sim->graph.synchronous;
    int32_t space = sim->problem.worker_space[worker];
    if (synchronous == NULL || !synchronous[sim->workers[worker].task] || !sim->problem.space_is_device[space])
        return;
    sim->drivers.n_awaited[space] += change;
    sim->copies.has_more = true; /* its driver goes on */
}

int ssk_gathered(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    bool reads, writes;
    w->counters.migrate_ps += sim->now - w->start;
    w->state = SSK_PAYING;
    for (int64_t i = w->access; i < w->access_end; i++) {
        int32_t block = sim->graph.access_block[i];
        if (!first_of_block(sim, w->access, w->access_end, i, &reads, &writes) || !writes)
            continue;
        take_over(sim, block, used_place(sim, block, worker));
        if (ssk_includes_accesses(&sim->problem, worker))
            ssk_caches_forget(&sim->caches, block);
    }
    w->claimed = w->access;
    await_kernel(sim, worker, 1);
    return ssk_begin_work(sim, worker);
}

/* Asks for a block that nobody writes any more on the host. */
static int bring_back(ssk_sim_t *sim, int32_t block, int32_t near)
{
    int32_t host = ssk_host_for(sim, SSK_NONE);
    if (host == SSK_NONE)
        return SSK_OK;
    return ssk_want(sim, SSK_WANTED_COPY, (ssk_want_t){ssk_place(&sim->copies, block, host), SSK_BRING_BACK, 0, near});
}

int ssk_give_back(ssk_sim_t *sim, int32_t worker)
{
    ssk_worker_t *w = &sim->workers[worker];
    const ssk_problem_t *p = &sim->problem;
    ssk_copies_t *copies = &sim->copies;
    ssk_uses_t *used = &copies->used[worker];
    int32_t domain = p->worker_domain[worker];
    const uint8_t *is_final = sim->graph.access_final;
    int status = SSK_OK;
    await_kernel(sim, worker, -1);
    for (size_t i = 0; i < used->n; i++)
        if (--copies->claims[ssk_place(copies, used->uses[i].block, used->uses[i].space)] == 0)
            copies->claimed_bytes[used->uses[i].space] -= p->block_bytes[used->uses[i].block];
    used->n = 0;
    for (int64_t i = w->claimed; i < w->access_end && is_final != NULL && status == SSK_OK; i++)
        if (is_final[i])
            status = bring_back(sim, sim->graph.access_block[i], domain);
    w->claimed = w->access_end;
    for (int32_t space = 0; space < p->n_spaces && status == SSK_OK; space++)
        if (p->domain_reaches[(int64_t)domain * p->n_spaces + space])
            status = admit(sim, space);
    return status == SSK_OK ? ssk_start_copies(sim) : status;
}

int ssk_prefetch(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker)
{
    const ssk_copies_t *copies = &sim->copies;
    int32_t rank = group == 0 ? SSK_URGENT : SSK_PREFETCH;
    bool by_priority = rank == SSK_PREFETCH && sim->plan.group_prefetches[group] == SSK_BY_PRIORITY && sim->graph.priority != NULL;
    int32_t priority = by_priority ? sim->graph.priority[task] : 0;
    int32_t near = sim->problem.worker_domain[worker];
    int64_t first = sim->graph.access_ptr[task], last = sim->graph.join_access[task];
    bool reads, writes;
    int status = SSK_OK;
    for (int64_t i = first; i < last && status == SSK_OK; i++) {
        int32_t block = sim->graph.access_block[i];
        if (!first_of_block(sim, first, last, i, &reads, &writes))
            continue;
        int what = reads && copies->valid[block] != 0 ? SSK_WANTED_COPY : SSK_WANTED_ROOM;
        int64_t place = ssk_place(copies, block, space_for(sim, block, worker));
        status = ssk_want(sim, what, (ssk_want_t){place, rank, priority, near});
    }
    return status == SSK_OK ? ssk_start_copies(sim) : status;
}


/*
 * Homes of blocks: first touch, pools of memory, footprint; docs/semantics.md, rules BP.
 */
#include "memory/homes.h"

#include "run/run.h"

bool ssk_has_room(const ssk_sim_t *sim, int32_t node, int32_t block)
{
    return sim->problem.taken_bytes[block] <= sim->problem.node_capacity_bytes[node] - sim->node_used[node];
}

void ssk_take_memory(ssk_sim_t *sim, int32_t node, int32_t block)
{
    int64_t n_bytes = sim->problem.taken_bytes[block];
    sim->node_used[node] += n_bytes;
    sim->used += n_bytes;
    sim->node_peak[node] = ssk_max(sim->node_peak[node], sim->node_used[node]);
    sim->counters.peak_bytes = ssk_max(sim->counters.peak_bytes, sim->used);
}

void ssk_give_memory_back(ssk_sim_t *sim, int32_t node, int32_t block)
{
    sim->node_used[node] -= sim->problem.taken_bytes[block];
    sim->used -= sim->problem.taken_bytes[block];
}

int32_t ssk_reached_node(ssk_sim_t *sim, int32_t block, int32_t domain, bool writes)
{
    int32_t home = sim->home[block];
    if (!writes)
        return ssk_replicas_nearest(&sim->replicas, &sim->problem, block, home, domain);
    int32_t *nodes = sim->replicas.node + (size_t)block * (size_t)sim->replicas.n_each;
    for (int32_t i = 0; i < sim->replicas.n_each; i++) {
        if (nodes[i] >= 0)
            ssk_give_memory_back(sim, nodes[i], block);
        nodes[i] = SSK_NONE;
    }
    return home;
}

/* The node whose pool a worker uses. */
static int32_t near_node(const ssk_sim_t *sim, int32_t worker)
{
    return sim->problem.touch_order[sim->problem.worker_domain[worker] * sim->problem.n_allowed];
}

/*
 * Gives a block of a pool memory that another block has had last, or nobody (SSK_NONE): caches hold that of it. If memory
 * that it has had itself still waits, the other block's name goes there.
 */
static void change_memory(ssk_sim_t *sim, int32_t block, int32_t before)
{
    if (before == block)
        return;
    ssk_blockpools_name(&sim->blockpools, block, before);
    if (before != SSK_NONE)
        ssk_caches_exchange(&sim->caches, block, before);
    else
        ssk_caches_forget(&sim->caches, block);
}

/* Takes memory of a node (SSK_NONE: of no one first), or else of those that the worker touches: its home then. */
static int take_from_system(ssk_sim_t *sim, int32_t worker, int32_t block, int32_t first)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t domain = p->worker_domain[worker];
    for (int32_t i = first == SSK_NONE ? 0 : -1; i < p->n_allowed; i++) {
        int32_t node = i < 0 ? first : p->touch_order[domain * p->n_allowed + i];
        if (ssk_has_room(sim, node, block)) {
            ssk_take_memory(sim, node, block);
            sim->home[block] = node;
            return SSK_OK;
        }
    }
    sim->failure.block = block;
    sim->failure.bytes = p->taken_bytes[block];
    sim->failure.domain = domain;
    return ssk_fail(sim, SSK_ERR_NO_ROOM);
}

/* Takes memory that a pool gives a block: freed one, else the system's. */
static int take_from_pool(ssk_sim_t *sim, int32_t worker, int32_t block, int32_t pool)
{
    int32_t before;
    if (ssk_blockpools_take(&sim->blockpools, pool, sim->problem.pooling.size_class[block], &before)) {
        sim->counters.recycled_blocks++;
        sim->home[block] = pool;
        change_memory(sim, block, before);
        return SSK_OK;
    }
    int status = take_from_system(sim, worker, block, pool);
    if (status == SSK_OK)
        change_memory(sim, block, SSK_NONE);
    return status;
}

bool ssk_wants_home(ssk_sim_t *sim, int32_t block, int64_t written)
{
    const uint8_t *follows = sim->problem.follows;
    if (follows != NULL && sim->home[block] != SSK_NONE &&
        (follows[block] == SSK_AT_ACCESSES || (follows[block] == SSK_AT_WRITES && written > 0))) {
        ssk_give_memory_back(sim, sim->home[block], block);
        sim->home[block] = SSK_NONE;
    }
    return sim->home[block] == SSK_NONE;
}

int ssk_touch_first(ssk_sim_t *sim, int32_t worker, int32_t block)
{
    const ssk_pooling_t *pools = &sim->problem.pooling;
    bool is_pooled = pools->n_tasks > 0 && pools->size_class[block] >= 0;
    int status = is_pooled ? take_from_pool(sim, worker, block, near_node(sim, worker))
                           : take_from_system(sim, worker, block, SSK_NONE);
    if (status == SSK_OK)
        ssk_event(sim, SSK_FIRST_TOUCH, worker, sim->workers[worker].task, block, sim->home[block]);
    return status;
}

int ssk_allocate_for(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    const ssk_pooling_t *pools = &sim->problem.pooling;
    for (int64_t i = pools->allocate_ptr[task]; i < pools->allocate_ptr[task + 1]; i++) {
        int32_t block = pools->allocate[i], near = pools->allocate_near[block];
        int32_t wanted = near == SSK_NONE ? SSK_NONE : sim->home[near];
        if (sim->home[block] != SSK_NONE)
            continue;
        int status = take_from_pool(sim, worker, block, wanted == SSK_NONE ? near_node(sim, worker) : wanted);
        if (status != SSK_OK)
            return status;
        ssk_event(sim, SSK_ALLOCATE, worker, task, block, sim->home[block]);
    }
    return SSK_OK;
}

int ssk_free_after(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    const ssk_pooling_t *pools = &sim->problem.pooling;
    for (int64_t i = pools->release_ptr[task]; i < pools->release_ptr[task + 1]; i++) {
        int32_t block = pools->release[i], home = sim->home[block];
        if (home == SSK_NONE)
            continue;
        int status = ssk_blockpools_put(&sim->blockpools, &sim->allocator, home, pools->size_class[block], block);
        if (status != SSK_OK)
            return ssk_fail(sim, status);
        sim->home[block] = SSK_NONE;
        ssk_event(sim, SSK_FREE, worker, task, block, home);
    }
    return SSK_OK;
}

/*
 * Bringing the blocks of a task to its worker: claims, wanted copies, room; docs/semantics.md, "Copied data".
 *
 * A worker claims the blocks of a body or join, waits for those that are read and not valid on its node, then makes
 * those that it writes valid there only, computes, and gives its claims back. State: copies.h.
 */
#include "sim.h"

static int64_t place_of(const ssk_copies_t *copies, int32_t block, int32_t node)
{
    return (int64_t)block * copies->n_nodes + node;
}

static bool is_valid(const ssk_copies_t *copies, int32_t block, int32_t node)
{
    return (copies->valid[block] >> node & 1) != 0;
}

static bool is_device(const ssk_sim_t *sim, int32_t node)
{
    return sim->problem.node_is_device[node] != 0;
}

static void use(ssk_copies_t *copies, int64_t place)
{
    copies->last_use[place] = ++copies->n_uses;
}

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

/* Forgets the copy of a block on a node. */
static void drop(ssk_sim_t *sim, int32_t block, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    copies->valid[block] &= ~(UINT64_C(1) << node);
    ssk_give_memory_back(sim, node, block);
    if (sim->home[block] != node || copies->valid[block] == 0)
        return;
    int32_t home = 0;
    while (!is_valid(copies, block, home))
        home++;
    sim->home[block] = home;
}

static bool is_coming(const ssk_copies_t *copies, int64_t place)
{
    return copies->is_wanted[place] || copies->n_coming[place] > 0;
}

/* Puts something that is wanted into its place in an order. */
static int insert(ssk_sim_t *sim, ssk_want_t **wants, size_t *n, size_t *capacity, ssk_want_t want)
{
    int status = ssk_grow(&sim->allocator, wants, capacity, *n + 1, sizeof(**wants));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    size_t at = (*n)++;
    for (; at > 0 && wants != &sim->copies.added && ssk_want_precedes(&want, &(*wants)[at - 1]); at--)
        (*wants)[at] = (*wants)[at - 1];
    (*wants)[at] = want;
    return SSK_OK;
}

static int insert_wanted(ssk_sim_t *sim, ssk_want_t want)
{
    ssk_copies_t *copies = &sim->copies;
    return insert(sim, &copies->wanted, &copies->n_wanted, &copies->wanted_capacity, want);
}

/* Moves what is wanted already to a lower rank. */
static int hasten(ssk_sim_t *sim, ssk_want_t wanted)
{
    ssk_copies_t *copies = &sim->copies;
    size_t at = 0;
    while (copies->wanted[at].place != wanted.place)
        at++;
    if (copies->wanted[at].rank <= wanted.rank)
        return SSK_OK;
    copies->n_wanted--;
    memmove(&copies->wanted[at], &copies->wanted[at + 1], (copies->n_wanted - at) * sizeof(*copies->wanted));
    return insert_wanted(sim, wanted);
}

/* Asks for a block, or only for room for it, if it is not there and not asked for. */
static int want(ssk_sim_t *sim, int what, ssk_want_t wanted)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t block = (int32_t)(wanted.place / copies->n_nodes), node = (int32_t)(wanted.place % copies->n_nodes);
    if (copies->is_wanted[wanted.place] && !copies->is_serving)
        return hasten(sim, wanted);
    if (is_valid(copies, block, node) || is_coming(copies, wanted.place))
        return SSK_OK;
    copies->is_wanted[wanted.place] = (uint8_t)what;
    if (copies->is_serving)
        return insert(sim, &copies->added, &copies->n_added, &copies->added_capacity, wanted);
    return insert_wanted(sim, wanted);
}

/* The first node that is no device, other than `node`; SSK_NONE when there is none. */
static int32_t host_for(const ssk_sim_t *sim, int32_t node)
{
    for (int32_t host = 0; host < sim->problem.n_nodes; host++)
        if (host != node && !is_device(sim, host))
            return host;
    return SSK_NONE;
}

/* Finds the least recently used block on a node that nobody uses; of those with another copy, or of all. */
static int32_t least_used(const ssk_sim_t *sim, int32_t node, bool with_other_copy)
{
    const ssk_copies_t *copies = &sim->copies;
    int32_t best = SSK_NONE;
    int64_t least = INT64_MAX;
    for (int32_t block = 0; block < copies->n_blocks; block++) {
        int64_t place = place_of(copies, block, node);
        uint64_t others = copies->valid[block] & ~(UINT64_C(1) << node);
        if (!is_valid(copies, block, node) || copies->claims[place] > 0 || copies->readers[place] > 0 ||
            (with_other_copy && others == 0) || copies->last_use[place] >= least)
            continue;
        best = block;
        least = copies->last_use[place];
    }
    return best;
}

/* Drops least recently used copies until there is room; *has_room_ret says whether there is. */
static int make_room(ssk_sim_t *sim, int64_t size, int32_t node, bool *has_room_ret)
{
    ssk_copies_t *copies = &sim->copies;
    while (size > sim->problem.node_capacity_bytes[node] - sim->node_used[node]) {
        int32_t spare = least_used(sim, node, true);
        if (spare != SSK_NONE) {
            drop(sim, spare, node);
            continue;
        }
        *has_room_ret = false;
        int32_t idle = least_used(sim, node, false), host = host_for(sim, node);
        bool is_saving = copies->saving[node] != SSK_NONE && host != SSK_NONE &&
                         is_coming(copies, place_of(copies, copies->saving[node], host));
        if (idle == SSK_NONE || is_saving || host == SSK_NONE)
            return SSK_OK;
        copies->saving[node] = idle;
        return want(sim, SSK_WANTED_COPY, (ssk_want_t){place_of(copies, idle, host), SSK_URGENT, 0});
    }
    *has_room_ret = true;
    return SSK_OK;
}

/* The node from which a block would come first if it were alone. */
static int32_t nearest(const ssk_sim_t *sim, int32_t block, int32_t target)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t best = SSK_NONE;
    double least = 0.0;
    for (int32_t node = 0; node < p->n_nodes; node++) {
        if (!is_valid(&sim->copies, block, node))
            continue;
        int32_t path = p->path_copy[node * p->n_nodes + target];
        double duration = (double)p->path_latency_ps[path] + (double)p->block_bytes[block] / p->path_cap[path * p->n_smt];
        if (best == SSK_NONE || duration < least) {
            best = node;
            least = duration;
        }
    }
    return best;
}

static bool is_between_devices(const ssk_sim_t *sim, int32_t source, int32_t target)
{
    return is_device(sim, source) && is_device(sim, target);
}

/* Notes a copy that is running or kept back. */
static void occupy(ssk_sim_t *sim, int32_t source, int32_t target)
{
    ssk_copies_t *copies = &sim->copies;
    copies->has_lane[source * copies->n_nodes + target] = copies->has_target[target] = 1;
    if (is_between_devices(sim, source, target))
        copies->has_end[source] = copies->has_end[target] = 1;
}

/* Whether a copy is kept back by one that has been noted. */
static bool is_excluded(const ssk_sim_t *sim, int32_t source, int32_t target)
{
    const ssk_copies_t *copies = &sim->copies;
    if (copies->has_lane[source * copies->n_nodes + target] || copies->has_end[target])
        return true;
    return is_between_devices(sim, source, target) && (copies->has_target[source] || copies->has_target[target]);
}

/* Starts a copy if no other excludes it and room is free; *has_started_ret says whether it has. */
static int try_start(ssk_sim_t *sim, int32_t block, int32_t target, bool *has_started_ret)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_copies_t *copies = &sim->copies;
    int32_t source = nearest(sim, block, target), lane = source * copies->n_nodes + target;
    bool has_room = false;
    *has_started_ret = false;
    if (is_excluded(sim, source, target)) {
        occupy(sim, source, target);
        return SSK_OK;
    }
    int status = make_room(sim, p->block_bytes[block], target, &has_room);
    if (status != SSK_OK || !has_room)
        return status;
    occupy(sim, source, target);
    ssk_take_memory(sim, target, block);
    copies->lane[lane] = (ssk_copy_t){block, source, target, false};
    copies->readers[place_of(copies, block, source)]++;
    copies->n_coming[place_of(copies, block, target)]++;
    ssk_event(sim, SSK_MIGRATE_START, SSK_NONE, SSK_NONE, block, target);
    int64_t latency = p->path_latency_ps[p->path_copy[source * p->n_nodes + target]];
    ssk_timers_set(&sim->timers, p->n_workers + lane, ssk_add_ps(sim->now, latency));
    *has_started_ret = true;
    return SSK_OK;
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
static void has_come(ssk_sim_t *sim, int32_t worker)
{
    if (--sim->copies.missing[worker] > 0 || sim->workers[worker].state != SSK_GATHERING)
        return;
    sim->workers[worker].lag = sim->lag;
    ssk_timers_set(&sim->timers, worker, sim->now);
}

/* Makes a block valid on a node and lets workers go on that have waited for it. */
static void appear(ssk_sim_t *sim, int32_t block, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    int64_t place = place_of(copies, block, node);
    int32_t entry = copies->waiter_of[place];
    copies->valid[block] |= UINT64_C(1) << node;
    use(copies, place);
    copies->waiter_of[place] = SSK_NONE;
    while (entry != SSK_NONE) {
        ssk_waiter_t waiter = copies->waiters[entry];
        copies->waiters[entry].next = copies->free_waiter;
        copies->free_waiter = entry;
        has_come(sim, waiter.worker);
        entry = waiter.next;
    }
}

/* Makes a block valid that needs nothing but room; *has_appeared_ret says whether there was any. */
static int try_room(ssk_sim_t *sim, int32_t block, int32_t node, bool *has_appeared_ret)
{
    int64_t size = sim->problem.block_bytes[block];
    int status = make_room(sim, size, node, has_appeared_ret);
    if (status != SSK_OK || !*has_appeared_ret)
        return status;
    ssk_take_memory(sim, node, block);
    if (sim->copies.valid[block] == 0) {
        sim->home[block] = node;
        ssk_event(sim, SSK_FIRST_TOUCH, SSK_NONE, SSK_NONE, block, node);
    }
    appear(sim, block, node);
    return SSK_OK;
}

/* Does what is wanted if it can be done; *is_done_ret says whether it is wanted no longer. */
static int serve(ssk_sim_t *sim, int64_t place, bool *is_done_ret)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t block = (int32_t)(place / copies->n_nodes), node = (int32_t)(place % copies->n_nodes);
    int status = SSK_OK;
    *is_done_ret = is_valid(copies, block, node);
    if (!*is_done_ret) {
        bool is_copy = copies->is_wanted[place] == SSK_WANTED_COPY && copies->valid[block] != 0;
        status = (is_copy ? try_start : try_room)(sim, block, node, is_done_ret);
    }
    if (*is_done_ret)
        copies->is_wanted[place] = 0;
    return status;
}

/* Starts the wanted copies that can start, in their order, then those that are wanted to make room for them. */
static int start(ssk_sim_t *sim)
{
    ssk_copies_t *copies = &sim->copies;
    size_t n_lanes = (size_t)copies->n_nodes * (size_t)copies->n_nodes, kept = 0;
    bool is_done = false;
    int status = SSK_OK;
    if (copies->n_wanted == 0)
        return SSK_OK;
    memset(copies->has_lane, 0, n_lanes);
    memset(copies->has_target, 0, (size_t)copies->n_nodes);
    memset(copies->has_end, 0, (size_t)copies->n_nodes);
    for (size_t lane = 0; lane < n_lanes; lane++)
        if (copies->lane[lane].block != SSK_NONE)
            occupy(sim, copies->lane[lane].source, copies->lane[lane].target);
    copies->is_serving = true;
    for (size_t i = 0; i < copies->n_wanted && status == SSK_OK; i++) {
        status = serve(sim, copies->wanted[i].place, &is_done);
        if (!is_done)
            copies->wanted[kept++] = copies->wanted[i];
    }
    copies->n_wanted = kept;
    for (size_t i = 0; i < copies->n_added && status == SSK_OK; i++) {
        ssk_want_t added = copies->added[i];
        status = serve(sim, added.place, &is_done);
        if (status == SSK_OK && !is_done)
            status = insert_wanted(sim, added);
    }
    copies->n_added = 0;
    copies->is_serving = false;
    return status;
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
            copies->claims[place_of(copies, block, sim->problem.worker_node[worker])] == 0)
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
        int64_t place = place_of(copies, block, node);
        if (!first_of_block(sim, w->access, w->access_end, i, &reads, &writes))
            continue;
        copies->claims[place]++;
        use(copies, place);
        if (is_valid(copies, block, node))
            continue;
        int what = reads && copies->valid[block] != 0 ? SSK_WANTED_COPY : SSK_WANTED_ROOM;
        int status = want(sim, what, (ssk_want_t){place, SSK_URGENT, 0});
        if (status == SSK_OK)
            status = await(sim, worker, place);
        if (status != SSK_OK)
            return status;
    }
    has_come(sim, worker);
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
        sim->requested_bytes += graph->read_bytes[i] + graph->written_bytes[i];
    int status = check_size(sim, w->access, w->access_end, node);
    if (status != SSK_OK)
        return status;
    queue_up(&sim->copies, worker, node);
    status = admit(sim, node);
    if (status == SSK_OK)
        status = start(sim);
    if (status != SSK_OK)
        return status;
    if (sim->copies.missing[worker] == 0)
        return SSK_ACT_GATHERED;
    w->then = SSK_ACT_GATHERED;
    w->state = SSK_GATHERING;
    return SSK_WAIT;
}

/* Makes a block that is written valid on one node, and on those where others use it. */
static void take_over(ssk_sim_t *sim, int32_t block, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    for (int32_t other = 0; other < copies->n_nodes; other++)
        if (other != node && is_valid(copies, block, other) && copies->claims[place_of(copies, block, other)] == 0)
            drop(sim, block, other);
    sim->home[block] = node;
    for (int32_t lane = 0; lane < copies->n_nodes * copies->n_nodes; lane++) {
        ssk_copy_t *copy = &copies->lane[lane];
        int64_t place = place_of(copies, block, copy->target);
        if (copy->block != block || copy->is_stale || copies->claims[place] > 0)
            continue;
        copy->is_stale = true;
        copies->n_coming[place]--;
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
    int32_t host = host_for(sim, SSK_NONE);
    if (host == SSK_NONE)
        return SSK_OK;
    return want(sim, SSK_WANTED_COPY, (ssk_want_t){place_of(&sim->copies, block, host), SSK_BRING_BACK, 0});
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
            --copies->claims[place_of(copies, block, node)] == 0)
            copies->claimed_bytes[node] -= sim->problem.block_bytes[block];
    }
    for (int64_t i = w->claimed; i < w->access_end && is_final != NULL && status == SSK_OK; i++)
        if (is_final[i])
            status = bring_back(sim, sim->graph.access_block[i]);
    w->claimed = w->access_end;
    if (status == SSK_OK)
        status = admit(sim, node);
    return status == SSK_OK ? start(sim) : status;
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
        if (first_of_block(sim, first, last, i, &reads, &writes) && reads && sim->copies.valid[block] != 0)
            status = want(sim, SSK_WANTED_COPY, (ssk_want_t){place_of(copies, block, node), rank, priority});
    }
    return status == SSK_OK ? start(sim) : status;
}

int ssk_copy_moves(ssk_sim_t *sim, int32_t entity)
{
    const ssk_problem_t *p = &sim->problem;
    const ssk_copy_t *copy = &sim->copies.lane[entity - p->n_workers];
    if (p->block_bytes[copy->block] == 0)
        return ssk_copy_arrives(sim, entity);
    int32_t flow_class = p->path_copy[copy->source * p->n_nodes + copy->target] * p->n_smt;
    int status = ssk_flows_reserve(&sim->flows, &sim->allocator, flow_class, sim->flows.classes[flow_class].n + 1);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ssk_flows_start(&sim->flows, entity, flow_class, (double)p->block_bytes[copy->block], sim->now, sim->lag);
    return SSK_OK;
}

int ssk_copy_arrives(ssk_sim_t *sim, int32_t entity)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_copies_t *copies = &sim->copies;
    int32_t lane = entity - p->n_workers;
    ssk_copy_t copy = copies->lane[lane];
    int64_t place = place_of(copies, copy.block, copy.target), size = p->block_bytes[copy.block];
    copies->lane[lane].block = SSK_NONE;
    copies->readers[place_of(copies, copy.block, copy.source)]--;
    ssk_event(sim, SSK_MIGRATE_END, SSK_NONE, SSK_NONE, copy.block, copy.target);
    sim->migrations++;
    sim->migrated_bytes += size;
    sim->node_bytes_now[ssk_max(p->node_domain[copy.target], 0) * p->n_nodes + copy.source] += size;
    if (copy.is_stale) {
        ssk_give_memory_back(sim, copy.target, copy.block);
    } else {
        copies->n_coming[place]--;
        appear(sim, copy.block, copy.target);
    }
    return start(sim);
}

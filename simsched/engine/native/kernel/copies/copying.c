/*
 * Wanted blocks, room for them, and their copies; docs/semantics.md, rules CD. State: copies.h.
 */
#include "copies/copying.h"

#include "copies/gather.h"
#include "copies/rooms.h"
#include "memory/homes.h"
#include "run/run.h"

/* Copies of a lane that may be handed over at a time when the next one is urgent, a prefetch, or brought back. */
static const int32_t most_handed[SSK_N_RANKS] = {5, 2, 1};

static bool is_device(const ssk_sim_t *sim, int32_t space)
{
    return sim->problem.space_is_device[space] != 0;
}

/* The block and the space of a place. */
static int32_t block_of(const ssk_copies_t *copies, int64_t place)
{
    return (int32_t)(place / copies->n_spaces);
}

static int32_t space_of(const ssk_copies_t *copies, int64_t place)
{
    return (int32_t)(place % copies->n_spaces);
}

/* Forgets the copy of a block in a space. */
void ssk_drop_copy(ssk_sim_t *sim, int32_t block, int32_t space)
{
    ssk_copies_t *copies = &sim->copies;
    int64_t place = ssk_place(copies, block, space);
    uint8_t *is_fresh = &copies->is_fresh[place];
    copies->valid[block] &= ~(UINT64_C(1) << space);
    *is_fresh = *is_fresh == SSK_FRESH ? SSK_DROPPED : *is_fresh;
    ssk_give_memory_back(sim, copies->node_at[place], block);
    if (sim->home[block] != copies->node_at[place] || copies->valid[block] == 0)
        return;
    int32_t other = 0;
    while (!ssk_is_valid(copies, block, other))
        other++;
    sim->home[block] = copies->node_at[ssk_place(copies, block, other)];
}

/* The path of copies of a block between nodes. */
static int32_t path_between(const ssk_problem_t *p, int32_t source_node, int32_t target_node)
{
    return p->path_copy[source_node * p->n_nodes + target_node];
}

/* The space from which a block would come first if it were alone. */
static int32_t nearest(const ssk_sim_t *sim, int32_t block, int32_t target, int32_t near)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t best = SSK_NONE, to = ssk_first_node(sim, block, target, near);
    double least = 0.0;
    for (int32_t space = 0; space < p->n_spaces; space++) {
        if (!ssk_is_valid(&sim->copies, block, space))
            continue;
        int32_t path = path_between(p, sim->copies.node_at[ssk_place(&sim->copies, block, space)], to);
        double rate = p->path_cap[path * p->n_mates] * p->path_share[path];
        double duration = (double)p->path_latency_ps[path] + (double)p->block_bytes[block] / rate;
        if (best == SSK_NONE || duration < least) {
            best = space;
            least = duration;
        }
    }
    return best;
}

/* Counts something that is wanted of a lane, or no longer. */
static void count_wanted(ssk_sim_t *sim, int32_t source, int32_t target, int change)
{
    sim->copies.n_wanted += (size_t)change;
    sim->copies.n_served[ssk_server_of(&sim->problem, source, target)] += (size_t)change;
}

/* Puts something that is wanted into its place in the lane from a source. */
static int insert(ssk_sim_t *sim, int32_t source, ssk_want_t want)
{
    ssk_copies_t *copies = &sim->copies;
    ssk_wants_t *wanted = &copies->wanted[source * copies->n_spaces + space_of(copies, want.place)];
    int status = ssk_grow(&sim->allocator, &wanted->wants, &wanted->capacity, wanted->n + 1, sizeof(*wanted->wants));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    size_t at = wanted->n++;
    for (; at > 0 && ssk_want_precedes(&want, &wanted->wants[at - 1]); at--)
        wanted->wants[at] = wanted->wants[at - 1];
    wanted->wants[at] = want;
    count_wanted(sim, source, space_of(copies, want.place), 1);
    copies->wanted_from[want.place] = source;
    copies->has_more = true;
    return SSK_OK;
}

/* Moves what is wanted already to a lower rank. */
static int hasten(ssk_sim_t *sim, ssk_want_t want)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t source = copies->wanted_from[want.place];
    ssk_wants_t *wanted = &copies->wanted[source * copies->n_spaces + space_of(copies, want.place)];
    size_t at = 0;
    while (wanted->wants[at].place != want.place)
        at++;
    if (wanted->wants[at].rank <= want.rank)
        return SSK_OK;
    wanted->n--;
    count_wanted(sim, source, space_of(copies, want.place), -1);
    memmove(&wanted->wants[at], &wanted->wants[at + 1], (wanted->n - at) * sizeof(*wanted->wants));
    return insert(sim, source, want);
}

int ssk_want(ssk_sim_t *sim, int what, ssk_want_t want)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t block = block_of(copies, want.place), space = space_of(copies, want.place);
    if (want.rank == SSK_URGENT && ssk_driver_is_busy(&sim->drivers, space)) {
        int status = ssk_defer(&sim->drivers, &sim->allocator, space, (ssk_deferral_t){want.place, what, want.near});
        return status == SSK_OK ? SSK_OK : ssk_fail(sim, status);
    }
    if (copies->is_wanted[want.place])
        return hasten(sim, want);
    if (ssk_is_valid(copies, block, space) || ssk_is_coming(copies, want.place))
        return SSK_OK;
    copies->is_wanted[want.place] = (uint8_t)what;
    return insert(sim, what == SSK_WANTED_COPY ? nearest(sim, block, space, want.near) : space, want);
}

static bool is_between_devices(const ssk_sim_t *sim, int32_t source, int32_t target)
{
    return is_device(sim, source) && is_device(sim, target);
}

/* Notes a copy that is running or kept back. */
static void occupy(ssk_sim_t *sim, int32_t source, int32_t target)
{
    ssk_copies_t *copies = &sim->copies;
    copies->has_lane[source * copies->n_spaces + target] = copies->has_target[target] = 1;
    if (is_between_devices(sim, source, target))
        copies->has_end[source] = copies->has_end[target] = 1;
}

/* Whether a copy is kept back by one that has been noted. */
static bool is_excluded(const ssk_sim_t *sim, int32_t source, int32_t target)
{
    const ssk_copies_t *copies = &sim->copies;
    if (copies->has_lane[source * copies->n_spaces + target] || copies->has_end[target])
        return true;
    return is_between_devices(sim, source, target) && (copies->has_target[source] || copies->has_target[target]);
}

/* Puts a copy behind those that have been handed over. */
static int enqueue(ssk_sim_t *sim, ssk_copy_t copy)
{
    ssk_copies_t *copies = &sim->copies;
    int status = ssk_grow(&sim->allocator, &copies->handed, &copies->handed_capacity, copies->n_waiting + 1,
                          sizeof(*copies->handed));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    copies->handed[copies->n_waiting++] = copy;
    copies->may_begin = true;
    return SSK_OK;
}

/* Hands a copy over, or lets its driver prepare it, or room for a block, where that takes time. */
static int prepare(ssk_sim_t *sim, ssk_copy_t copy, bool *takes_time_ret)
{
    const ssk_problem_t *p = &sim->problem;
    int64_t cost = ssk_preparation_ps(&sim->drivers, p, copy, sim->now);
    int32_t driver = ssk_driver_of(p, copy.source, copy.target);
    *takes_time_ret = cost > 0;
    if (cost == 0)
        return copy.source == copy.target ? SSK_OK : enqueue(sim, copy);
    sim->drivers.preparing[driver] = copy;
    ssk_timers_set(&sim->timers, p->n_workers + driver * p->n_spaces + driver, ssk_add_ps(sim->now, cost));
    return SSK_OK;
}

/* Hands a copy over if room is free; *is_handed_ret says whether it has been handed over. */
static int try_copy(ssk_sim_t *sim, int32_t block, int32_t source, int32_t target, int32_t near, bool *is_handed_ret)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t node;
    int status = ssk_make_room(sim, block, target, near, &node);
    bool takes_time;
    *is_handed_ret = node != SSK_NONE;
    if (status != SSK_OK || !*is_handed_ret)
        return status;
    ssk_take_memory(sim, node, block);
    copies->n_handed[source * copies->n_spaces + target]++;
    copies->readers[ssk_place(copies, block, source)]++;
    copies->n_coming[ssk_place(copies, block, target)]++;
    int32_t source_node = copies->node_at[ssk_place(copies, block, source)];
    return prepare(sim, (ssk_copy_t){block, source, target, source_node, node, false}, &takes_time);
}

/* Makes a block valid on a node; tasks may use it when the round of its space has ended. */
static void appear(ssk_sim_t *sim, int32_t block, int32_t node)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t space = sim->problem.node_space[node];
    int64_t place = ssk_place(copies, block, space);
    copies->valid[block] |= UINT64_C(1) << space;
    copies->node_at[place] = node;
    ssk_use_copy(copies, place);
    if (copies->is_fresh[place] == SSK_NOT_FRESH) {
        copies->fresh_next[place] = copies->fresh_head[space];
        copies->fresh_head[space] = block;
    }
    copies->is_fresh[place] = SSK_FRESH;
    copies->has_more = true;
}

/* Lets workers go on that have waited for a place. */
static void release_waiters(ssk_sim_t *sim, int64_t place)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t entry = copies->waiter_of[place];
    copies->waiter_of[place] = SSK_NONE;
    while (entry != SSK_NONE) {
        ssk_waiter_t waiter = copies->waiters[entry];
        copies->waiters[entry].next = copies->free_waiter;
        copies->free_waiter = entry;
        ssk_has_come(sim, waiter.worker);
        entry = waiter.next;
    }
}

/* Makes a block valid on a node that has needed nothing but room. */
static void appear_anew(ssk_sim_t *sim, int32_t block, int32_t node)
{
    if (sim->copies.valid[block] == 0) {
        sim->home[block] = node;
        ssk_event(sim, SSK_FIRST_TOUCH, SSK_NONE, SSK_NONE, block, node);
    }
    appear(sim, block, node);
}

/* Takes room for a block that needs nothing else; *has_room_ret says whether there was any. */
static int try_room(ssk_sim_t *sim, int32_t block, int32_t space, int32_t near, bool *has_room_ret)
{
    bool takes_time = false;
    int32_t node;
    int status = ssk_make_room(sim, block, space, near, &node);
    *has_room_ret = node != SSK_NONE;
    if (status != SSK_OK || !*has_room_ret)
        return status;
    ssk_take_memory(sim, node, block);
    status = prepare(sim, (ssk_copy_t){block, space, space, node, node, false}, &takes_time);
    if (status == SSK_OK && takes_time)
        sim->copies.n_coming[ssk_place(&sim->copies, block, space)]++;
    else if (status == SSK_OK)
        appear_anew(sim, block, node);
    return status;
}

/* Does what is wanted if it can be done; *is_done_ret says whether it is wanted no longer. */
static int serve(ssk_sim_t *sim, int64_t place, int32_t near, bool *is_done_ret)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t block = block_of(copies, place), space = space_of(copies, place);
    int status = SSK_OK;
    *is_done_ret = ssk_is_valid(copies, block, space);
    if (!*is_done_ret && copies->is_wanted[place] == SSK_WANTED_COPY)
        status = try_copy(sim, block, copies->wanted_from[place], space, near, is_done_ret);
    else if (!*is_done_ret)
        status = try_room(sim, block, space, near, is_done_ret);
    if (*is_done_ret)
        copies->is_wanted[place] = 0;
    return status;
}

/* Whether the source of what is wanted no longer has the block, nor has its space got it otherwise. */
static bool has_lost_source(const ssk_copies_t *copies, int64_t place)
{
    int32_t block = block_of(copies, place);
    return copies->is_wanted[place] == SSK_WANTED_COPY && !ssk_is_valid(copies, block, space_of(copies, place)) &&
           !ssk_is_valid(copies, block, copies->wanted_from[place]);
}

/* Finds what is wanted of a lane with a rank behind the first few; false when there is nothing. */
static bool find_want(const ssk_wants_t *wanted, int32_t rank, int32_t n_passed, size_t *at_ret)
{
    size_t at = 0;
    while (at < wanted->n && wanted->wants[at].rank < rank)
        at++;
    at += (size_t)n_passed;
    *at_ret = at;
    return at < wanted->n && wanted->wants[at].rank == rank;
}

/* Counts what is wanted of a lane, of which something is, with a rank; up to `most`. */
static int32_t count_wants(const ssk_wants_t *wanted, int32_t rank, int32_t most)
{
    int32_t n = 0;
    if (wanted->wants[wanted->n - 1].rank < rank)
        return 0;
    for (size_t at = 0; at < wanted->n && n < most && wanted->wants[at].rank <= rank; at++)
        n += wanted->wants[at].rank == rank;
    return n;
}

/* Hands over the next thing that is wanted of a lane with a rank; *has_more_ret says whether more may follow. */
static int hand_over(ssk_sim_t *sim, ssk_round_t *now, int32_t lane, int32_t rank, bool *has_more_ret)
{
    ssk_copies_t *copies = &sim->copies;
    ssk_wants_t *wanted = &copies->wanted[lane];
    int32_t source = lane / copies->n_spaces, target = lane % copies->n_spaces;
    bool is_full = now->is_full && rank > SSK_URGENT && is_device(sim, target);
    size_t at = 0;
    int status = SSK_OK;
    if (now->n_left == SSK_NONE)
        now->n_left = count_wants(wanted, rank, most_handed[rank] - (source == target ? 0 : copies->n_handed[lane]));
    *has_more_ret = now->n_left > 0 && !is_full && find_want(wanted, rank, now->n_passed, &at);
    if (!*has_more_ret)
        return SSK_OK;
    ssk_want_t want = wanted->wants[at];
    bool has_lost = has_lost_source(copies, want.place), is_done = false;
    now->n_left--;
    if (!has_lost)
        status = serve(sim, want.place, want.near, &is_done);
    if (!is_done && !has_lost) {
        now->n_passed++;
        now->is_full = true;
        return status;
    }
    count_wanted(sim, source, target, -1);
    wanted->n--;
    memmove(&wanted->wants[at], &wanted->wants[at + 1], (wanted->n - at) * sizeof(*wanted->wants));
    if (has_lost)
        return insert(sim, nearest(sim, block_of(copies, want.place), target, want.near), want);
    now->has_served = true;
    return status;
}

/* Asks for what has become urgent in a space while its driver was busy. */
static int want_deferred(ssk_sim_t *sim, int32_t space)
{
    ssk_deferrals_t *deferred = &sim->drivers.deferred[space];
    size_t n = deferred->n;
    int status = SSK_OK;
    deferred->n = 0; /* the driver is not busy: nothing is deferred meanwhile */
    for (size_t i = 0; i < n && status == SSK_OK; i++) {
        ssk_deferral_t item = deferred->items[i];
        status = ssk_want(sim, item.what, (ssk_want_t){item.place, SSK_URGENT, 0, item.near});
    }
    return status;
}

/* Ends a space's round: tasks may use what has become valid, and what has become urgent is wanted. */
static int end_round(ssk_sim_t *sim, int32_t space)
{
    ssk_copies_t *copies = &sim->copies;
    int32_t block = copies->fresh_head[space];
    copies->fresh_head[space] = SSK_NONE;
    while (block != SSK_NONE) {
        int64_t place = ssk_place(copies, block, space);
        if (copies->is_fresh[place] == SSK_FRESH)
            release_waiters(sim, place);
        copies->is_fresh[place] = SSK_NOT_FRESH;
        block = copies->fresh_next[place];
    }
    sim->drivers.rounds[space] = ssk_new_round();
    return want_deferred(sim, space);
}

/* Makes the blocks valid whose copies have ended before a space's round. */
static void notice_ended(ssk_sim_t *sim, int32_t space)
{
    ssk_copies_t *copies = &sim->copies;
    ssk_ended_t *ended = &copies->ended[space];
    for (size_t i = 0; i < ended->n; i++) {
        ssk_copy_t copy = ended->copies[i];
        copies->n_handed[copy.source * copies->n_spaces + copy.target]--;
        copies->readers[ssk_place(copies, copy.block, copy.source)]--;
        if (copy.is_stale) {
            ssk_give_memory_back(sim, copy.target_node, copy.block);
        } else {
            copies->n_coming[ssk_place(copies, copy.block, copy.target)]--;
            appear(sim, copy.block, copy.target_node);
        }
    }
    ended->n = 0;
}

/* Lets a driver that has not looked at what is wanted do so if that takes time; false when it need not wait. */
static bool look(ssk_sim_t *sim, int32_t space)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_round_t *now = &sim->drivers.rounds[space];
    bool has_work = sim->copies.ended[space].n > 0 || sim->copies.n_served[space] > 0;
    if (p->costs.driver_look_ps == 0 || now->has_looked || !is_device(sim, space))
        return false;
    now->is_looking = has_work;
    if (has_work)
        ssk_timers_set(&sim->timers, p->n_workers + space * p->n_spaces + space, ssk_add_ps(sim->now, p->costs.driver_look_ps));
    return true;
}

/* Goes through the lanes that a space serves until there is nothing to do, or its driver is busy. */
static int go_round(ssk_sim_t *sim, int32_t space)
{
    ssk_copies_t *copies = &sim->copies;
    ssk_round_t *now = &sim->drivers.rounds[space];
    const ssk_visit_t *visits = &sim->drivers.visits[sim->drivers.visit_ptr[space]];
    int32_t n_visits = sim->drivers.visit_ptr[space + 1] - sim->drivers.visit_ptr[space];
    int status = SSK_OK;
    while (status == SSK_OK && !ssk_driver_is_busy(&sim->drivers, space) && !now->is_looking) {
        bool has_more = false;
        if (now->visit == n_visits) {
            bool is_over = !now->has_served && sim->drivers.deferred[space].n == 0 && copies->ended[space].n == 0;
            status = end_round(sim, space);
            if (is_over)
                break;
        }
        if (now->visit == 0 && now->n_left == SSK_NONE) {
            if (sim->drivers.n_awaited[space] > 0 || look(sim, space))
                break;
            notice_ended(sim, space);
        }
        if (status == SSK_OK && copies->wanted[visits[now->visit].lane].n > 0)
            status = hand_over(sim, now, visits[now->visit].lane, visits[now->visit].rank, &has_more);
        if (!has_more) {
            now->visit = copies->n_served[space] > 0 ? now->visit + 1 : n_visits; /* the others come to nothing */
            now->n_left = SSK_NONE;
            now->n_passed = 0;
        }
    }
    return status;
}

/* Starts a copy that has been handed over. */
static void begin(ssk_sim_t *sim, ssk_copy_t copy)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t lane = copy.source * p->n_spaces + copy.target, path = path_between(p, copy.source_node, copy.target_node);
    sim->copies.lane[lane] = copy;
    int64_t ends = ((int64_t)copy.source_node << 32) + copy.target_node;
    ssk_event(sim, SSK_MIGRATE_START, SSK_NONE, SSK_NONE, copy.block, ends);
    ssk_timers_set(&sim->timers, p->n_workers + lane, ssk_add_ps(sim->now, p->path_latency_ps[path]));
}

/* Starts those that have been handed over and are not kept back. */
static void begin_all(ssk_sim_t *sim)
{
    ssk_copies_t *copies = &sim->copies;
    size_t n_lanes = (size_t)copies->n_spaces * (size_t)copies->n_spaces, kept = 0;
    memset(copies->has_lane, 0, n_lanes);
    memset(copies->has_target, 0, (size_t)copies->n_spaces);
    memset(copies->has_end, 0, (size_t)copies->n_spaces);
    for (size_t lane = 0; lane < n_lanes; lane++)
        if (copies->lane[lane].block != SSK_NONE)
            occupy(sim, copies->lane[lane].source, copies->lane[lane].target);
    for (size_t i = 0; i < copies->n_waiting; i++) {
        ssk_copy_t copy = copies->handed[i];
        if (is_excluded(sim, copy.source, copy.target))
            copies->handed[kept++] = copy;
        else
            begin(sim, copy);
        occupy(sim, copy.source, copy.target);
    }
    copies->n_waiting = kept;
    copies->may_begin = false;
}

/* Lets all spaces go round while something has become wanted or valid, and starts copies. */
static int go_rounds(ssk_sim_t *sim)
{
    ssk_copies_t *copies = &sim->copies;
    int status = SSK_OK;
    while (copies->has_more && status == SSK_OK) {
        copies->has_more = false;
        for (int32_t space = 0; space < copies->n_spaces && status == SSK_OK; space++)
            status = go_round(sim, space);
    }
    if (status == SSK_OK && copies->may_begin && copies->n_waiting > 0)
        begin_all(sim);
    return status;
}

int ssk_start_copies(ssk_sim_t *sim)
{
    sim->copies.has_more = sim->copies.has_more || sim->copies.n_wanted > 0;
    return go_rounds(sim);
}

/* Hands over what a driver has prepared, and lets it go on. */
static int end_preparing(ssk_sim_t *sim, int32_t device)
{
    ssk_copies_t *copies = &sim->copies;
    ssk_round_t *now = &sim->drivers.rounds[device];
    ssk_copy_t copy = sim->drivers.preparing[device];
    int status = SSK_OK;
    if (now->is_looking) {
        now->is_looking = false;
        now->has_looked = true;
        status = go_round(sim, device); /* not all spaces: their looks would keep each other going */
        return status == SSK_OK ? go_rounds(sim) : status;
    }
    copies->has_more = true; /* its round goes on */
    sim->drivers.preparing[device].block = SSK_NONE;
    if (copy.source == copy.target && copy.is_stale) {
        ssk_give_memory_back(sim, copy.target_node, copy.block);
    } else if (copy.source == copy.target) {
        copies->n_coming[ssk_place(copies, copy.block, device)]--;
        appear_anew(sim, copy.block, copy.target_node);
    } else {
        status = enqueue(sim, copy);
    }
    return status == SSK_OK ? ssk_start_copies(sim) : status;
}

int ssk_copy_moves(ssk_sim_t *sim, int32_t entity)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t lane = entity - p->n_workers;
    const ssk_copy_t *copy = &sim->copies.lane[lane];
    if (lane / p->n_spaces == lane % p->n_spaces)
        return end_preparing(sim, lane / p->n_spaces);
    if (p->block_bytes[copy->block] == 0)
        return ssk_copy_arrives(sim, entity);
    int32_t path = path_between(p, copy->source_node, copy->target_node), flow_class = path * p->n_mates;
    int status = ssk_flows_reserve(&sim->flows, &sim->allocator, flow_class, sim->flows.classes[flow_class].n + 1);
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    double levels = (double)p->block_bytes[copy->block] / p->path_share[path];
    ssk_flows_start(&sim->flows, entity, flow_class, levels, sim->now, sim->lag);
    return SSK_OK;
}

int ssk_copy_arrives(ssk_sim_t *sim, int32_t entity)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_copies_t *copies = &sim->copies;
    int32_t lane = entity - p->n_workers;
    ssk_copy_t copy = copies->lane[lane];
    int32_t driver = ssk_driver_of(p, copy.source, copy.target);
    ssk_ended_t *ended = &copies->ended[driver == SSK_NONE ? copy.target : driver];
    int64_t size = p->block_bytes[copy.block];
    int status = ssk_grow(&sim->allocator, &ended->copies, &ended->capacity, ended->n + 1, sizeof(*ended->copies));
    if (status != SSK_OK)
        return ssk_fail(sim, status);
    ended->copies[ended->n++] = copy;
    copies->lane[lane].block = SSK_NONE;
    copies->may_begin = true;
    copies->has_more = true; /* its driver begins a round, unless it is busy */
    ssk_event(sim, SSK_MIGRATE_END, SSK_NONE, SSK_NONE, copy.block, copy.target_node);
    sim->counters.migrations++;
    sim->counters.migrated_bytes += size;
    sim->path_bytes[path_between(p, copy.source_node, copy.target_node)] += size;
    sim->node_bytes_now[ssk_max(p->node_domain[copy.target_node], 0) * p->n_nodes + copy.source_node] += size;
    return ssk_start_copies(sim);
}

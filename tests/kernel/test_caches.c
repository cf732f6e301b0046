/* Caches against plain lists of blocks, and the memory-side cache against a plain table. */
#include "caches/caches.h"
#include "caches/sidecache.h"
#include "support.h"

enum { MAX_SLICES = 256, MAX_BLOCKS = 16 };

typedef struct {
    int32_t n, block[MAX_BLOCKS]; /* oldest first */
    int64_t n_bytes[MAX_BLOCKS];
} list_t;

/* Removes a block from a list and returns its bytes. */
static int64_t take_out(list_t *list, int32_t block)
{
    for (int32_t i = 0; i < list->n; i++) {
        if (list->block[i] != block)
            continue;
        int64_t n_bytes = list->n_bytes[i];
        list->n--;
        for (; i < list->n; i++) {
            list->block[i] = list->block[i + 1];
            list->n_bytes[i] = list->n_bytes[i + 1];
        }
        return n_bytes;
    }
    return 0;
}

/* Bytes of a block in the lists of an instance's n slices, -1 if it is in none. */
static int64_t bytes_of(const list_t *lists, int32_t n, int32_t block)
{
    int64_t sum = -1;
    for (int32_t slice = 0; slice < n; slice++)
        for (int32_t i = 0; i < lists[slice].n; i++)
            if (lists[slice].block[i] == block)
                sum = (sum < 0 ? 0 : sum) + lists[slice].n_bytes[i];
    return sum;
}

typedef struct {
    int32_t n, block[4 * MAX_BLOCKS * MAX_BLOCKS]; /* in the order in which they left a level */
    int64_t n_bytes[4 * MAX_BLOCKS * MAX_BLOCKS];
} dropped_t;

/* What victim caches know of an access: what the level before lacked, had no room for, and dropped. */
typedef struct {
    int64_t fresh, passing;
    dropped_t dropped;
} before_t;

/* docs/semantics.md, rules C2 to C4, for one slice; returns what is missing. */
static int64_t look_up_slice(list_t *list, int64_t capacity, int32_t block, int64_t footprint, dropped_t *dropped)
{
    int64_t resident = take_out(list, block), held = resident > footprint ? resident : footprint, sum = 0;
    list->block[list->n] = block;
    list->n_bytes[list->n++] = held;
    for (int32_t i = 0; i < list->n; i++)
        sum += list->n_bytes[i];
    while (sum > capacity) {
        sum -= list->n_bytes[0];
        dropped->block[dropped->n] = list->block[0];
        dropped->n_bytes[dropped->n++] = list->n_bytes[0];
        take_out(list, list->block[0]);
    }
    return footprint - (footprint < resident ? footprint : resident);
}

/* What more bytes of a block than there is room for leave of a list: its own entry. */
static void displace(list_t *list, int32_t block, dropped_t *dropped)
{
    int64_t own = bytes_of(list, 1, block);
    for (int32_t i = 0; i < list->n; i++)
        if (list->block[i] != block) {
            dropped->block[dropped->n] = list->block[i];
            dropped->n_bytes[dropped->n++] = list->n_bytes[i];
        }
    list->n = own >= 0;
    list->block[0] = block;
    list->n_bytes[0] = own;
}

/* A look-up in an instance of a level. */
static int64_t look_up(list_t *lists, const int64_t *capacity, int32_t n, int32_t block, int64_t whole, int64_t want,
                       before_t *before)
{
    int64_t asked = want > whole ? want : whole, missing = 0;
    memset(before, 0, sizeof(*before));
    for (int32_t i = 0; i < n; i++) {
        int64_t footprint = whole * (i + 1) / n - whole * i / n;
        if (footprint > capacity[i]) {
            missing += asked * (i + 1) / n - asked * i / n;
            before->fresh += footprint;
            before->passing += footprint;
            displace(&lists[i], block, &before->dropped);
        } else {
            int64_t lacks = look_up_slice(&lists[i], capacity[i], block, footprint, &before->dropped);
            missing += lacks;
            before->fresh += lacks;
        }
    }
    return missing < want ? missing : want;
}

/* "Victim caches": what a slice gives up, or only shows if the block is shared. */
static int64_t give(list_t *list, int32_t block, int64_t wanted, bool is_shared)
{
    int64_t held = bytes_of(list, 1, block), found = wanted < held ? wanted : held;
    if (found <= 0)
        return 0;
    if (is_shared || found == held)
        take_out(list, block);
    if (is_shared) {
        list->block[list->n] = block;
        list->n_bytes[list->n++] = held;
    }
    for (int32_t i = 0; i < list->n && !is_shared; i++)
        if (list->block[i] == block)
            list->n_bytes[i] -= found;
    return found;
}

/* "Victim caches": takes bytes of a block in that the level before has dropped. */
static void put(list_t *lists, const int64_t *capacity, int32_t n, int32_t block, int64_t whole, int64_t n_bytes,
                dropped_t *dropped)
{
    for (int32_t i = 0; i < n; i++) {
        int64_t share = n_bytes * (i + 1) / n - n_bytes * i / n, all = whole * (i + 1) / n - whole * i / n;
        int64_t held = bytes_of(&lists[i], 1, block), sum = share + (held > 0 ? held : 0);
        sum = sum < all ? sum : all;
        if (share > capacity[i])
            displace(&lists[i], block, dropped);
        else if (share > 0)
            look_up_slice(&lists[i], capacity[i], block, sum < capacity[i] ? sum : capacity[i], dropped);
    }
}

static int32_t slices_of(const ssk_problem_t *p, int32_t level)
{
    return p->cache_slices[level];
}

/* Where the slices of an instance begin among those of all levels. */
static int32_t first_slice(const ssk_problem_t *p, int32_t level, int32_t instance)
{
    int32_t first = instance * slices_of(p, level);
    for (int32_t before = 0; before < level; before++)
        first += slices_of(p, before) * p->n_cache_instances[before];
    return first;
}

/* Where an instance is among those of all levels. */
static int32_t number_of(const ssk_problem_t *p, int32_t level, int32_t instance)
{
    for (int32_t before = 0; before < level; before++)
        instance += p->n_cache_instances[before];
    return instance;
}

/* How long hits of n_bytes take in an instance. */
static int64_t hit_ps(const ssk_problem_t *p, int32_t number, int64_t n_bytes)
{
    return p->cache_latency_ps[number] + ssk_ceil_ps((double)n_bytes / p->cache_rate[number]);
}

/* "Victim caches": looks an access up if it reaches the level, then fills it. */
static int64_t look_up_victim(const ssk_problem_t *p, int32_t level, int32_t instance, list_t *lists, int32_t block, int64_t want,
                              bool is_shared, before_t *before)
{
    int32_t n = slices_of(p, level);
    const int64_t *capacity = p->cache_slice_bytes + first_slice(p, level, instance);
    int64_t asked = want > before->fresh ? want : before->fresh, missing = 0;
    static before_t now;
    memset(&now, 0, sizeof(now));
    for (int32_t i = 0; want > 0 && i < n; i++) {
        int64_t through = before->passing * (i + 1) / n - before->passing * i / n;
        int64_t share = before->fresh * (i + 1) / n - before->fresh * i / n;
        int64_t found = through > capacity[i] ? 0 : give(&lists[i], block, share, is_shared);
        missing += through > capacity[i] ? asked * (i + 1) / n - asked * i / n : share - found;
        now.fresh += share - found;
        now.passing += through > capacity[i] ? through : 0;
    }
    for (int32_t i = 0; i < before->dropped.n; i++)
        put(lists, capacity, n, before->dropped.block[i], p->block_bytes[before->dropped.block[i]],
            before->dropped.n_bytes[i], &now.dropped);
    if (want > 0)
        put(lists, capacity, n, block, p->block_bytes[block], before->passing, &now.dropped);
    *before = now;
    return missing < want ? missing : want;
}

/* "Victim caches", writing: levels keep what those inside do not hold. */
static void keep_rest(const ssk_problem_t *p, int32_t level, list_t *own, int32_t block, int64_t *inside)
{
    int32_t n = slices_of(p, level);
    int64_t rest = p->block_bytes[block] > *inside ? p->block_bytes[block] - *inside : 0;
    if (!p->cache_is_victim[level])
        *inside = 0;
    for (int32_t i = 0; i < n && p->cache_is_victim[level]; i++) {
        int64_t most = rest * (i + 1) / n - rest * i / n, held = bytes_of(&own[i], 1, block);
        if (held >= 0 && (most == 0 || held == 0))
            take_out(&own[i], block);
        for (int32_t j = 0; j < own[i].n; j++)
            if (own[i].block[j] == block && held > most)
                own[i].n_bytes[j] = most;
    }
    int64_t held = bytes_of(own, n, block);
    *inside += held > 0 ? held : 0;
}

/* Lists of an instance of a level. */
static list_t *slices_in(const ssk_problem_t *p, list_t *lists, int32_t level, int32_t instance)
{
    return lists + first_slice(p, level, instance);
}

/* Bytes of a block in the instances of the level that transfers which the worker does not use. */
static int64_t elsewhere(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block)
{
    int64_t sum = 0;
    int32_t level = p->transfer_level;
    for (int32_t i = 0; level >= 0 && i < p->n_cache_instances[level]; i++) {
        int64_t n_bytes = bytes_of(slices_in(p, lists, level, i), slices_of(p, level), block);
        if (i != p->cache_instance[level * p->n_workers + worker] && n_bytes > 0)
            sum += n_bytes;
    }
    return sum;
}

/* Item 2: what a transfer takes, and what it displaces. */
static int64_t transfer(const ssk_problem_t *p, int64_t moved, const dropped_t *dropped)
{
    int64_t evicted = 0, time = p->transfer_latency_ps + ssk_ceil_ps((double)moved / p->transfer_rate);
    for (int32_t i = 0; i < dropped->n; i++)
        evicted += dropped->n_bytes[i];
    if (moved == 0)
        return 0;
    if (p->displacement_rate > 0.0)
        time += ssk_ceil_ps((double)(moved < evicted ? moved : evicted) / p->displacement_rate);
    return time;
}

/* Item 2: what giving up takes. */
static int64_t upgrade(const ssk_problem_t *p, int32_t block, int64_t n_bytes, int64_t written, int64_t lacked,
                       int64_t passed, int64_t there_too)
{
    int64_t footprint = n_bytes < p->block_bytes[block] ? n_bytes : p->block_bytes[block];
    int64_t updated = written < n_bytes - footprint ? written : n_bytes - footprint;
    int64_t had = (footprint > lacked ? footprint - lacked : 0) +
                  (passed > 0 ? (int64_t)((double)passed * ((double)updated / (double)footprint)) : 0);
    int64_t upgraded = had < there_too ? had : there_too;
    upgraded = upgraded < updated ? upgraded : updated;
    if (!(p->upgrade_rate > 0.0) || upgraded <= 0)
        return 0;
    return p->transfer_latency_ps + ssk_ceil_ps((double)upgraded / p->upgrade_rate);
}

static bool has_victims(const ssk_problem_t *p)
{
    bool found = false;
    for (int32_t level = 0; level < p->n_levels && p->cache_is_victim != NULL; level++)
        found |= p->cache_is_victim[level];
    return found;
}

/* Tells whether an instance that the worker does not use has an entry of a block; *is_held: whether any has. */
static bool is_elsewhere(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block, bool *is_held)
{
    bool found = false;
    *is_held = false;
    for (int32_t level = 0; level < p->n_levels; level++)
        for (int32_t i = 0; i < p->n_cache_instances[level]; i++)
            if (bytes_of(slices_in(p, lists, level, i), slices_of(p, level), block) >= 0) {
                *is_held = true;
                found |= i != p->cache_instance[level * p->n_workers + worker];
            }
    return found;
}

static size_t n_entries(const list_t *lists, int32_t n)
{
    size_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (size_t)lists[i].n;
    return sum;
}

/* An instance that has no entry of a block is not its writer. */
static void forget_evicted(const ssk_problem_t *p, list_t *lists, int32_t *writer)
{
    int32_t level = p->transfer_level;
    for (int32_t b = 0; b < p->n_blocks; b++)
        if (writer[b] >= 0 && bytes_of(slices_in(p, lists, level, writer[b]), slices_of(p, level), b) < 0)
            writer[b] = SSK_NONE;
}

/* Looks an access up in an instance of any level; `inner` is what the level before has left, then what this one does. */
static int64_t look_up_any(const ssk_problem_t *p, int32_t level, int32_t instance, list_t *own, int32_t block,
                           int64_t n_bytes, int64_t want, bool is_shared, before_t *inner)
{
    int64_t whole = n_bytes < p->block_bytes[block] ? n_bytes : p->block_bytes[block];
    if (p->cache_is_victim[level])
        return look_up_victim(p, level, instance, own, block, want, is_shared, inner);
    if (want > 0)
        return look_up(own, p->cache_slice_bytes + first_slice(p, level, instance), slices_of(p, level), block, whole,
                       want, inner);
    memset(inner, 0, sizeof(*inner));
    return 0;
}

/* A worker that writes a block leaves what it has in its own instances, and drops it from the others. */
static void drop_stale(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block)
{
    int64_t inside = 0;
    for (int32_t level = 0; level < p->n_levels; level++) {
        int32_t own = p->cache_instance[level * p->n_workers + worker], n = slices_of(p, level);
        for (int32_t i = 0; i < n * p->n_cache_instances[level]; i++)
            if (i / n != own)
                take_out(slices_in(p, lists, level, 0) + i, block);
        keep_rest(p, level, slices_in(p, lists, level, own), block, &inside);
    }
}

typedef struct {
    int64_t n_bytes;
    int32_t worker;
} dirty_t;

/* Bytes of a block in the instances of a worker. */
static int64_t held_by(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block)
{
    int64_t held = 0;
    for (int32_t level = 0; level < p->n_levels; level++) {
        int32_t own = p->cache_instance[level * p->n_workers + worker];
        int64_t here = bytes_of(slices_in(p, lists, level, own), slices_of(p, level), block);
        here = here < 0 ? 0 : here;
        if (p->cache_is_victim != NULL && p->cache_is_victim[level])
            held += here;
        else if (here > held)
            held = here;
    }
    return held < p->block_bytes[block] ? held : p->block_bytes[block];
}

/* docs/semantics.md, rule B3: what has left the instances of its last writer is not dirty any more. */
static void settle(const ssk_problem_t *p, list_t *lists, dirty_t *dirty)
{
    for (int32_t block = 0; block < p->n_blocks; block++) {
        int64_t held = held_by(p, lists, dirty[block].worker, block);
        dirty[block].n_bytes = held < dirty[block].n_bytes ? held : dirty[block].n_bytes;
    }
}

/* The bytes of a write that were dirty before it. */
static int64_t mark_dirty(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block, int64_t n_bytes,
                          int64_t written, dirty_t *dirty)
{
    int64_t once = n_bytes < p->block_bytes[block] ? n_bytes : p->block_bytes[block];
    int64_t before = dirty[block].n_bytes, held = held_by(p, lists, worker, block);
    once = written < once ? written : once;
    int64_t most = once > before ? once : before;
    dirty[block].n_bytes = most < held ? most : held;
    dirty[block].worker = worker;
    return once < before ? once : before;
}

/* "Block pools": what a list has of two blocks is the other one's, a part of that at most. */
static void exchange_in(list_t *list, int32_t a, int32_t b, int64_t part_of_a, int64_t part_of_b)
{
    for (int32_t i = 0; i < list->n; i++)
        list->block[i] = list->block[i] == a ? b : list->block[i] == b ? a : list->block[i];
    for (int32_t i = list->n - 1; i >= 0; i--) {
        int32_t block = list->block[i];
        int64_t most = block == a ? part_of_a : block == b ? part_of_b : list->n_bytes[i];
        if (list->n_bytes[i] > most && (list->n_bytes[i] = most) == 0)
            take_out(list, block);
    }
}

/* Blocks change their memory, or a block gets memory that nobody has had (`other` SSK_NONE). */
static void change_memory(const ssk_problem_t *p, list_t *lists, int32_t block, int32_t other, dirty_t *dirty)
{
    for (int32_t level = 0; level < p->n_levels; level++) {
        int32_t n = slices_of(p, level);
        for (int32_t i = 0; i < n * p->n_cache_instances[level]; i++) {
            list_t *list = slices_in(p, lists, level, 0) + i;
            int64_t parts[2] = {0, 0};
            for (int32_t k = 0; k < 2 && other != SSK_NONE; k++) {
                int64_t whole = p->block_bytes[k == 0 ? block : other];
                parts[k] = whole * (i % n + 1) / n - whole * (i % n) / n;
            }
            if (other == SSK_NONE)
                take_out(list, block);
            else
                exchange_in(list, block, other, parts[0], parts[1]);
        }
    }
    dirty_t before = dirty[block];
    dirty[block] = other == SSK_NONE ? (dirty_t){0, 0} : dirty[other];
    if (other != SSK_NONE)
        dirty[other] = before;
    settle(p, lists, dirty);
}

static void check_sums(const ssk_problem_t *p, const ssk_cache_counts_t *counts, int64_t hit_bytes, int64_t missing_bytes)
{
    for (int32_t i = 0; i < p->n_domains * p->n_levels; i++) {
        hit_bytes -= counts[i].hit_bytes;
        missing_bytes -= counts[i].missing_bytes;
    }
    CHECK(hit_bytes == 0 && missing_bytes == 0);
}

/* Two blocks drawn change their memory, or one gets fresh memory, here and there. */
static void exchange_some(scenario_t *s, ssk_caches_t *caches, list_t *lists, dirty_t *dirty, int32_t *writer,
                          bool *shared)
{
    const ssk_problem_t *p = &s->problem;
    int32_t block = rng_below(&s->rng, p->n_blocks), other = rng_below(&s->rng, p->n_blocks + 1) - 1;
    if (other == block)
        return;
    if (other == SSK_NONE) {
        ssk_caches_forget(caches, block);
        writer[block] = SSK_NONE;
    } else {
        int32_t was_writer = writer[block];
        bool was_shared = shared[block];
        ssk_caches_exchange(caches, other, block);
        writer[block] = writer[other];
        writer[other] = was_writer;
        shared[block] = shared[other];
        shared[other] = was_shared;
    }
    change_memory(p, lists, block, other, dirty);
    forget_evicted(p, lists, writer);
}

/* "Victim caches": whether a block is shared before an access, and where its dirty bytes are if not. */
static void note_sharing(const ssk_problem_t *p, list_t *lists, int32_t worker, int32_t block, bool *shared,
                         dirty_t *dirty)
{
    bool is_held, is_there = is_elsewhere(p, lists, worker, block, &is_held);
    shared[block] = is_there || (shared[block] && is_held);
    if (has_victims(p) && !shared[block])
        dirty[block].worker = worker;
}

static void test_caches(uint64_t seed)
{
    static const int64_t SIZES[] = {0, 64, 300, 1000, 4000, 13000};
    scenario_t s;
    ssk_caches_t caches;
    ssk_allocator_t allocator = ssk_default_allocator();
    static list_t lists[MAX_SLICES];
    dirty_t dirty[MAX_BLOCKS] = {{0, 0}};
    int32_t writer[16];
    bool shared[16] = {false};
    static before_t inner;
    ssk_cache_counts_t counts[64];
    int64_t group_sum[4] = {0}, group[4] = {0}, missing_sum = 0, hit_sum = 0;
    memset(lists, 0, sizeof(lists));
    memset(writer, -1, sizeof(writer));
    scenario_init(&s, seed);
    const ssk_problem_t *p = &s.problem;
    CHECK(ssk_caches_alloc(&caches, &allocator, p) == SSK_OK && caches.n_slices <= MAX_SLICES);
    CHECK(p->n_domains * p->n_levels <= 64 && p->n_levels <= 4);
    caches.counts = memset(counts, 0, sizeof(counts));
    for (int step = 0; step < 2000; step++) {
        if (rng_chance(&s.rng, 0.1))
            exchange_some(&s, &caches, lists, dirty, writer, shared);
        int32_t worker = rng_below(&s.rng, p->n_workers), block = rng_below(&s.rng, p->n_blocks);
        int64_t n_bytes = rng_pick(&s.rng, SIZES, 6), want = n_bytes, tail = 0, expected_tail = 0, missing;
        int64_t wait = 0, expected_wait = 0, lacked = 0, passed = 0, again = 0;
        double exposure = rng_below(&s.rng, 5) / 4.0;
        bool writes = rng_chance(&s.rng, 0.3);
        int64_t written = writes ? 1 + rng_below(&s.rng, (int32_t)n_bytes + 1) : 0;
        CHECK(ssk_caches_access(&caches, worker, block, n_bytes, written, exposure, step % 2 ? group : NULL, &missing,
                                &tail, &wait) == SSK_OK);
        int64_t there_too = elsewhere(p, lists, worker, block);
        note_sharing(p, lists, worker, block, shared, dirty);
        memset(&inner, 0, sizeof(inner));
        if (writes)
            again = ssk_caches_write(&caches, worker, block, n_bytes, written);
        for (int32_t level = 0; level < p->n_levels; level++) {
            int32_t own = p->cache_instance[level * p->n_workers + worker], n = slices_of(p, level);
            int64_t before = want;
            list_t *here = slices_in(p, lists, level, own);
            want = look_up_any(p, level, own, here, block, n_bytes, want, shared[block], &inner);
            hit_sum += before - want;
            missing_sum += want;
            group_sum[level] += step % 2 ? want : 0;
            if (before > want) {
                int64_t time = hit_ps(p, number_of(p, level, own), before - want);
                expected_wait += ssk_ceil_ps((double)time * (p->cache_wait[level] * exposure));
                expected_tail += time - ssk_ceil_ps((double)time * (p->cache_wait[level] * exposure));
            }
            if (level == p->transfer_level)
                lacked = want;
            if (level == p->transfer_level && want > 0 && writer[block] >= 0 && writer[block] != own) {
                int64_t there = bytes_of(slices_in(p, lists, level, writer[block]), n, block);
                int64_t moved = there < want ? there : want;
                expected_wait += transfer(p, moved, &inner.dropped);
                passed = moved;
                want -= moved;
                hit_sum += moved;
                if (moved == there)
                    writer[block] = SSK_NONE;
            }
            if (writes && level == p->transfer_level)
                writer[block] = bytes_of(slices_in(p, lists, level, own), n, block) >= 0 ? own : SSK_NONE;
        }
        settle(p, lists, dirty);
        if (writes)
            drop_stale(p, lists, worker, block);
        shared[block] &= !writes;
        forget_evicted(p, lists, writer);
        CHECK(!writes || again == mark_dirty(p, lists, worker, block, n_bytes, written, dirty));
        expected_wait += upgrade(p, block, n_bytes, written, lacked, passed, there_too);
        CHECK(missing == want && tail == expected_tail && wait == expected_wait);
        CHECK(ssk_caches_verify(&caches) == SSK_OK);
    }
    check_sums(p, counts, hit_sum, missing_sum);
    CHECK(memcmp(group, group_sum, sizeof(group)) == 0);
    CHECK(n_entries(lists, caches.n_slices) == caches.n_live);
    ssk_caches_free(&caches);
    scenario_free(&s);
}

static void test_memory_side_cache(uint64_t seed)
{
    scenario_t s;
    ssk_sidecache_t cache;
    ssk_allocator_t allocator = ssk_default_allocator();
    int64_t tag[8][64];
    memset(tag, -1, sizeof(tag));
    scenario_init(&s, seed);
    const ssk_problem_t *p = &s.problem;
    CHECK(ssk_sidecache_alloc(&cache, &allocator, p) == SSK_OK);
    for (int step = 0; step < 500 && p->node_slots[0] > 0; step++) {
        int32_t node = rng_below(&s.rng, p->n_nodes), block = rng_below(&s.rng, p->n_blocks);
        int64_t n_bytes = rng_below(&s.rng, 100000), granules = p->granule_ptr[block + 1] - p->granule_ptr[block], hits = 0;
        int64_t whole = p->block_bytes[block], touched = 0;
        if (whole == 0)
            continue;
        int64_t end = 1 + rng_below(&s.rng, (int32_t)whole), begin = rng_below(&s.rng, (int32_t)end);
        int64_t size = (whole + granules - 1) / granules;
        for (int64_t i = p->granule_ptr[block]; i < p->granule_ptr[block + 1]; i++) {
            int64_t at = (i - p->granule_ptr[block]) * size;
            if (at >= end || at + size <= begin)
                continue;
            touched++;
            int64_t *place = &tag[node][p->granule_frame[i] % p->node_slots[node]];
            hits += *place == p->granule_frame[i];
            *place = p->granule_frame[i];
        }
        CHECK(ssk_sidecache_access(&cache, node, block, begin, end, n_bytes) == n_bytes * hits / touched);
        CHECK(ssk_sidecache_verify(&cache) == SSK_OK);
    }
    ssk_sidecache_free(&cache, &allocator);
    scenario_free(&s);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        test_caches(seed);
        test_memory_side_cache(seed);
    }
    return 0;
}

#include "caches/caches.h"

#include "caches/slices.h"
#include "caches/victimcache.h"
#include "caches/writeback.h"

int ssk_caches_alloc(ssk_caches_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    const size_t initial = 64;
    size_t n_levels = (size_t)problem->n_levels;
    memset(self, 0, sizeof(*self));
    self->problem = problem;
    self->allocator = allocator;
    self->free_entry = self->first_dropped = self->last_dropped = self->first_left = SSK_NONE;
    self->first_slice = ssk_new(allocator, n_levels, sizeof(*self->first_slice));
    self->first_instance = ssk_new(allocator, n_levels, sizeof(*self->first_instance));
    if (self->first_slice == NULL || self->first_instance == NULL)
        return SSK_ERR_MEMORY;
    for (size_t level = 0, instances = 0; level < n_levels; level++) {
        self->first_slice[level] = self->n_slices;
        self->first_instance[level] = (int32_t)instances;
        instances += (size_t)problem->n_cache_instances[level];
        self->n_slices += problem->n_cache_instances[level] * n_slices_of(self, (int32_t)level);
    }
    if (n_levels == 0)
        return SSK_OK;
    size_t n_slices = (size_t)self->n_slices, n_blocks = (size_t)problem->n_blocks;
    self->resident = ssk_new(allocator, n_slices, sizeof(*self->resident));
    self->holder = ssk_new(allocator, n_blocks, sizeof(*self->holder));
    self->table = ssk_new(allocator, initial, sizeof(*self->table));
    self->entries = ssk_new(allocator, n_slices + 1, sizeof(*self->entries));
    self->dirty = ssk_new(allocator, n_blocks, sizeof(*self->dirty));
    self->dirty_in = ssk_new(allocator, n_blocks * n_levels, sizeof(*self->dirty_in));
    if (!self->resident || !self->holder || !self->table || !self->entries || !self->dirty || !self->dirty_in)
        return SSK_ERR_MEMORY;
    if (problem->transfer_level != SSK_NONE) {
        self->writer = ssk_new(allocator, n_blocks, sizeof(*self->writer));
        if (self->writer == NULL)
            return SSK_ERR_MEMORY;
        for (size_t block = 0; block < n_blocks; block++)
            self->writer[block] = SSK_NONE;
    }
    bool has_victims = false;
    for (size_t level = 0; level < n_levels; level++)
        has_victims |= is_victim(problem, (int32_t)level);
    if (has_victims) {
        self->shared = ssk_new(allocator, n_blocks, sizeof(*self->shared));
        if (self->shared == NULL)
            return SSK_ERR_MEMORY;
    }
    self->end = self->n_slices;
    self->n_entries = self->capacity = n_slices + 1;
    for (int32_t i = 0; i <= self->end; i++)
        self->entries[i].newer = self->entries[i].older = i;
    for (size_t block = 0; block < n_blocks; block++)
        self->holder[block] = self->end;
    self->table_mask = initial - 1;
    memset(self->table, -1, initial * sizeof(*self->table));
    return SSK_OK;
}

void ssk_caches_free(ssk_caches_t *self)
{
    const ssk_allocator_t *allocator = self->allocator;
    if (allocator == NULL)
        return;
    ssk_delete(allocator, self->first_slice);
    ssk_delete(allocator, self->first_instance);
    ssk_delete(allocator, self->resident);
    ssk_delete(allocator, self->holder);
    ssk_delete(allocator, self->writer);
    ssk_delete(allocator, self->dirty);
    ssk_delete(allocator, self->dirty_in);
    ssk_delete(allocator, self->shared);
    ssk_delete(allocator, self->entries);
    ssk_delete(allocator, self->table);
    memset(self, 0, sizeof(*self));
}

/* Place in the table where the search for (slice, block) begins. */
static inline size_t hash(const ssk_caches_t *self, int32_t slice, int32_t block)
{
    uint64_t key = ((uint64_t)(uint32_t)slice << 32) | (uint32_t)block;
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & self->table_mask;
}

static inline size_t next_place(const ssk_caches_t *self, size_t place)
{
    return (place + 1) & self->table_mask;
}

int32_t ssk_caches_find(const ssk_caches_t *self, int32_t slice, int32_t block)
{
    for (size_t place = hash(self, slice, block);; place = next_place(self, place)) {
        int32_t entry = self->table[place];
        if (entry < 0 || (self->entries[entry].slice == slice && self->entries[entry].block == block))
            return entry;
    }
}

static void table_insert(ssk_caches_t *self, int32_t entry)
{
    size_t place = hash(self, self->entries[entry].slice, self->entries[entry].block);
    while (self->table[place] >= 0)
        place = next_place(self, place);
    self->table[place] = entry;
}

/* Removes an entry and moves later ones of its run forward, so that searches never meet a gap. */
static void table_remove(ssk_caches_t *self, int32_t entry)
{
    size_t gap = hash(self, self->entries[entry].slice, self->entries[entry].block);
    while (self->table[gap] != entry)
        gap = next_place(self, gap);
    for (size_t place = next_place(self, gap); self->table[place] >= 0; place = next_place(self, place)) {
        const ssk_cached_t *other = &self->entries[self->table[place]];
        size_t home = hash(self, other->slice, other->block);
        if (((place - home) & self->table_mask) >= ((place - gap) & self->table_mask)) {
            self->table[gap] = self->table[place];
            gap = place;
        }
    }
    self->table[gap] = -1;
}

static int grow_table(ssk_caches_t *self)
{
    size_t size = 2 * (self->table_mask + 1);
    int32_t *table = ssk_new(self->allocator, size, sizeof(*table));
    if (table == NULL)
        return SSK_ERR_MEMORY;
    memset(table, -1, size * sizeof(*table));
    int32_t *old = self->table;
    size_t old_size = self->table_mask + 1;
    self->table = table;
    self->table_mask = size - 1;
    for (size_t place = 0; place < old_size; place++)
        if (old[place] >= 0)
            table_insert(self, old[place]);
    ssk_delete(self->allocator, old);
    return SSK_OK;
}

static void unlink_from_slice(ssk_caches_t *self, int32_t entry)
{
    const ssk_cached_t *e = &self->entries[entry];
    self->entries[e->newer].older = e->older;
    self->entries[e->older].newer = e->newer;
}

static void link_as_newest(ssk_caches_t *self, int32_t entry)
{
    ssk_cached_t *e = &self->entries[entry], *slice = &self->entries[e->slice];
    e->newer = e->slice;
    e->older = slice->older;
    self->entries[e->older].newer = entry;
    slice->older = entry;
}

int64_t ssk_caches_held_by(const ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, bool *is_there_ret)
{
    int64_t sum = 0;
    int32_t first = slice_of(self, level, instance);
    *is_there_ret = false;
    for (int32_t slice = first; slice < first + n_slices_of(self, level); slice++) {
        int32_t entry = ssk_caches_find(self, slice, block);
        if (entry >= 0) {
            sum += self->entries[entry].n_bytes;
            *is_there_ret = true;
        }
    }
    return sum;
}

/* Forgets that an instance has written a block when it has no entry of it any more. */
static void forget_writer(ssk_caches_t *self, int32_t block)
{
    bool is_there;
    if (self->writer == NULL || self->writer[block] == SSK_NONE)
        return;
    ssk_caches_held_by(self, self->problem->transfer_level, self->writer[block], block, &is_there);
    if (!is_there)
        self->writer[block] = SSK_NONE;
}

/* Removes an entry from everything. It still says which block it was of, and how many bytes it had. */
static inline void take_out(ssk_caches_t *self, int32_t entry)
{
    ssk_cached_t *e = &self->entries[entry];
    table_remove(self, entry);
    unlink_from_slice(self, entry);
    *(e->previous >= 0 ? &self->entries[e->previous].following : &self->holder[e->block]) = e->following;
    self->entries[e->following].previous = e->previous;
    self->resident[e->slice] -= e->n_bytes;
    e->slice = SSK_NONE;
    self->n_live--;
    forget_writer(self, e->block);
}

void ssk_caches_drop(ssk_caches_t *self, int32_t entry)
{
    take_out(self, entry);
    release_entry(self, entry);
}

void ssk_caches_shrink(ssk_caches_t *self, int32_t entry, int64_t n_bytes)
{
    ssk_cached_t *e = &self->entries[entry];
    self->resident[e->slice] -= e->n_bytes - n_bytes;
    e->n_bytes = n_bytes;
    if (n_bytes == 0)
        ssk_caches_drop(self, entry);
}

/* Drops an entry of whose block the next level may take in what it had. */
static void evict(ssk_caches_t *self, int32_t entry)
{
    take_out(self, entry);
    self->entries[entry].following = SSK_NONE;
    *(self->last_dropped >= 0 ? &self->entries[self->last_dropped].following : &self->first_dropped) = entry;
    self->last_dropped = entry;
}

/* Drops an entry for room. */
static void make_room(ssk_caches_t *self, int32_t entry, bool is_passing_on)
{
    int32_t block = self->entries[entry].block;
    self->evicted_bytes += self->entries[entry].n_bytes;
    if (is_passing_on) {
        evict(self, entry);
        return;
    }
    ssk_caches_drop(self, entry);
    ssk_writeback_settle(self, block);
}

void ssk_caches_displace(ssk_caches_t *self, int32_t slice, int32_t block, bool is_passing_on)
{
    for (int32_t entry = self->entries[slice].newer, newer; entry != slice; entry = newer) {
        newer = self->entries[entry].newer;
        if (self->entries[entry].block != block)
            make_room(self, entry, is_passing_on);
    }
}

/* Stores a new, empty entry as the most recent one of a slice. */
SSK_ALWAYS_INLINE int insert(ssk_caches_t *self, int32_t slice, int32_t block, int32_t *entry_ret)
{
    int status = SSK_OK;
    if (4 * (self->n_live + 1) > self->table_mask + 1)
        status = grow_table(self);
    if (status == SSK_OK && self->free_entry < 0)
        status = ssk_grow(self->allocator, &self->entries, &self->capacity, self->n_entries + 1,
                          sizeof(*self->entries));
    if (status != SSK_OK)
        return status;
    int32_t entry = self->free_entry;
    if (entry >= 0)
        self->free_entry = self->entries[entry].following;
    else
        entry = (int32_t)self->n_entries++;
    ssk_cached_t *e = &self->entries[entry];
    e->n_bytes = 0;
    e->slice = slice;
    e->block = block;
    e->previous = -1;
    e->following = self->holder[block];
    self->entries[e->following].previous = entry;
    self->holder[block] = entry;
    link_as_newest(self, entry);
    table_insert(self, entry);
    self->n_live++;
    *entry_ret = entry;
    return SSK_OK;
}

void ssk_caches_make_newest(ssk_caches_t *self, int32_t entry)
{
    if (self->entries[self->entries[entry].slice].older != entry) {
        unlink_from_slice(self, entry);
        link_as_newest(self, entry);
    }
}

/* Looks `footprint` bytes up in a slice of some capacity; *held_ret is what it has of the block. */
static inline int look_up_slice(ssk_caches_t *self, int32_t slice, int64_t capacity, int32_t block, int64_t footprint,
                                bool is_passing_on, int64_t *held_ret)
{
    int32_t entry = ssk_caches_find(self, slice, block);
    if (entry >= 0) {
        ssk_caches_make_newest(self, entry);
    } else {
        int status = insert(self, slice, block, &entry);
        if (status != SSK_OK)
            return status;
    }
    int64_t held = self->entries[entry].n_bytes;
    *held_ret = held;
    if (footprint > held) {
        self->resident[slice] += footprint - held;
        self->entries[entry].n_bytes = footprint;
        while (self->resident[slice] > capacity)
            make_room(self, self->entries[slice].newer, is_passing_on);
    }
    return SSK_OK;
}

int ssk_caches_enter(ssk_caches_t *self, int32_t slice, int64_t capacity, int32_t block, int64_t footprint,
                     int64_t *held_ret)
{
    return look_up_slice(self, slice, capacity, block, footprint, true, held_ret);
}

/* Looks an access up in one instance; *missing_ret is what it does not hold of the `want` bytes that inner levels lack.
 * What they hold of the footprint is here, too, if as much is here. */
static int look_up(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t want, int64_t whole,
                   int64_t *missing_ret)
{
    int32_t n = n_slices_of(self, level), first = slice_of(self, level, instance);
    const int64_t *capacity = slice_bytes_of(self, level, instance);
    int64_t lacking = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t footprint = part(whole, i, n), held;
        if (footprint > capacity[i]) {
            lacking += part(want > whole ? want : whole, i, n);
            ssk_caches_displace(self, first + i, block, false);
            continue;
        }
        int status = look_up_slice(self, first + i, capacity[i], block, footprint, false, &held);
        if (status != SSK_OK)
            return status;
        lacking += footprint - ssk_min(footprint, held);
    }
    *missing_ret = ssk_min(want, lacking);
    return SSK_OK;
}

/* Takes what another instance has written over from it, right after the look-up; returns the bytes. */
static int64_t take_over(ssk_caches_t *self, int32_t instance, int32_t block, int64_t missing, int64_t *time)
{
    const ssk_problem_t *p = self->problem;
    int32_t writer = self->writer[block];
    bool is_there;
    if (missing == 0 || writer == SSK_NONE || writer == instance)
        return 0;
    int64_t there = ssk_caches_held_by(self, p->transfer_level, writer, block, &is_there), moved = ssk_min(missing, there);
    if (moved == there)
        self->writer[block] = SSK_NONE;
    if (moved > 0) {
        *time = ssk_add_ps(*time, p->transfer_latency_ps);
        *time = ssk_add_ps(*time, ssk_ceil_ps((double)moved / p->transfer_rate));
        if (p->displacement_rate > 0.0) {
            int64_t displacing = ssk_min(moved, self->evicted_bytes);
            *time = ssk_add_ps(*time, ssk_ceil_ps((double)displacing / p->displacement_rate));
        }
    }
    return moved;
}

/* Bytes of a block in other instances of the level that passes on than `own`. */
static int64_t elsewhere(const ssk_caches_t *self, int32_t own, int32_t block)
{
    int32_t level = self->problem->transfer_level, n = n_slices_of(self, level);
    int32_t first = self->first_slice[level], end = first + n * self->problem->n_cache_instances[level];
    int64_t sum = 0;
    for (int32_t e = self->holder[block]; e != self->end; e = self->entries[e].following) {
        int32_t slice = self->entries[e].slice;
        if (slice >= first && slice < end && (slice - first) / n != own)
            sum += self->entries[e].n_bytes;
    }
    return sum;
}

/* Time in which others give up what is read and then written here, having it, too: it was here or has been passed on. */
static int64_t upgrade(const ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                       int64_t lacked, int64_t passed)
{
    const ssk_problem_t *p = self->problem;
    int64_t footprint = ssk_min(n_bytes, p->block_bytes[block]);
    int64_t updated = ssk_min(written, n_bytes - footprint), had = footprint > lacked ? footprint - lacked : 0;
    if (updated == 0)
        return 0;
    if (passed > 0)
        had += (int64_t)((double)passed * ((double)updated / (double)footprint));
    int64_t there_too = elsewhere(self, own_instance(self, p->transfer_level, worker), block);
    int64_t upgraded = ssk_min(ssk_min(updated, had), there_too);
    if (upgraded <= 0)
        return 0;
    return ssk_add_ps(p->transfer_latency_ps, ssk_ceil_ps((double)upgraded / p->upgrade_rate));
}

SSK_ALWAYS_INLINE int look_through(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                                   double exposure, int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail,
                                   int64_t *wait, bool has_victims)
{
    const ssk_problem_t *p = self->problem;
    ssk_cache_counts_t *counts = self->counts + (size_t)p->worker_domain[worker] * (size_t)p->n_levels;
    int64_t footprint = ssk_min(n_bytes, p->block_bytes[block]);
    int64_t want = n_bytes, passed = 0, lacked = 0;
    int32_t level = 0;
    if (has_victims)
        ssk_victimcache_note_sharing(self, worker, block);
    for (; level < p->n_levels && want > 0; level++) {
        int32_t instance = own_instance(self, level, worker);
        int64_t missing;
        self->evicted_bytes = 0;
        int status = has_victims ? ssk_victimcache_look_up(self, level, instance, block, want, footprint, &missing)
                                 : look_up(self, level, instance, block, want, footprint, &missing);
        if (status != SSK_OK)
            return status;
        int64_t hit = want - missing;
        if (hit > 0) {
            int32_t own = self->first_instance[level] + instance;
            int64_t time = ssk_add_ps(p->cache_latency_ps[own], ssk_ceil_ps((double)hit / p->cache_rate[own]));
            int64_t waited = ssk_ceil_ps((double)time * (p->cache_wait[level] * exposure));
            *wait = ssk_add_ps(*wait, waited);
            *tail = ssk_add_ps(*tail, time - waited);
        }
        counts[level].hits += missing == 0;
        counts[level].misses += missing != 0;
        counts[level].missing_bytes += missing;
        if (missing_of_group != NULL)
            missing_of_group[level] += missing;
        if (level == p->transfer_level) {
            lacked = missing;
            passed = take_over(self, instance, block, missing, wait);
            hit += passed;
            missing -= passed;
        }
        counts[level].hit_bytes += hit;
        want = missing;
    }
    if (written > 0 && p->upgrade_rate > 0.0)
        *wait = ssk_add_ps(*wait, upgrade(self, worker, block, n_bytes, written, lacked, passed));
    *missing_ret = want;
    return has_victims ? ssk_victimcache_pass_on(self, level, worker, block) : SSK_OK;
}

int ssk_caches_plain_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                            double exposure, int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail,
                            int64_t *wait)
{
    return look_through(self, worker, block, n_bytes, written, exposure, missing_of_group, missing_ret, tail, wait,
                        false);
}

int ssk_caches_victim_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                             double exposure, int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail,
                             int64_t *wait)
{
    return look_through(self, worker, block, n_bytes, written, exposure, missing_of_group, missing_ret, tail, wait,
                        true);
}

int64_t ssk_caches_write(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written)
{
    const ssk_problem_t *p = self->problem;
    if (p->n_levels == 0)
        return 0;
    for (int32_t entry = self->holder[block]; entry != self->end;) {
        int32_t following = self->entries[entry].following;
        if (!is_own_slice(self, worker, self->entries[entry].slice))
            ssk_caches_drop(self, entry);
        entry = following;
    }
    if (self->shared != NULL)
        ssk_victimcache_keep_rest(self, worker, block);
    if (self->writer != NULL) {
        self->writer[block] = own_instance(self, p->transfer_level, worker);
        forget_writer(self, block);
    }
    return ssk_writeback_mark(self, worker, block, n_bytes, written);
}

/* Bytes of a block that a slice has when its level has all of them. */
static int64_t most_in(const ssk_caches_t *self, int32_t slice, int32_t block)
{
    int32_t level = self->problem->n_levels - 1;
    while (slice < self->first_slice[level])
        level--;
    int32_t n = n_slices_of(self, level);
    return part(self->problem->block_bytes[block], (slice - self->first_slice[level]) % n, n);
}

static void take_out_of_table(ssk_caches_t *self, int32_t first)
{
    for (int32_t entry = first; entry != self->end; entry = self->entries[entry].following)
        table_remove(self, entry);
}

static void put_into_table(ssk_caches_t *self, int32_t first, int32_t block)
{
    for (int32_t entry = first; entry != self->end; entry = self->entries[entry].following) {
        self->entries[entry].block = block;
        table_insert(self, entry);
    }
}

/* Leaves at most the block's own bytes of what its entries have. */
static void fit(ssk_caches_t *self, int32_t block)
{
    for (int32_t entry = self->holder[block], following; entry != self->end; entry = following) {
        following = self->entries[entry].following;
        int64_t most = most_in(self, self->entries[entry].slice, block);
        if (self->entries[entry].n_bytes > most)
            ssk_caches_shrink(self, entry, most);
    }
    ssk_writeback_settle(self, block);
}

static void swap_numbers(int32_t *values, size_t a, size_t b)
{
    int32_t value = values[a];
    values[a] = values[b];
    values[b] = value;
}

void ssk_caches_exchange(ssk_caches_t *self, int32_t a, int32_t b)
{
    size_t n_levels = (size_t)self->problem->n_levels, i = (size_t)a, j = (size_t)b;
    if (n_levels == 0)
        return;
    take_out_of_table(self, self->holder[a]);
    take_out_of_table(self, self->holder[b]);
    swap_numbers(self->holder, i, j);
    put_into_table(self, self->holder[a], a);
    put_into_table(self, self->holder[b], b);
    for (size_t level = 0; level < n_levels; level++)
        swap_numbers(self->dirty_in, i * n_levels + level, j * n_levels + level);
    int64_t dirty = self->dirty[a];
    self->dirty[a] = self->dirty[b];
    self->dirty[b] = dirty;
    if (self->writer != NULL)
        swap_numbers(self->writer, i, j);
    if (self->shared != NULL) {
        uint8_t shared = self->shared[a];
        self->shared[a] = self->shared[b];
        self->shared[b] = shared;
    }
    fit(self, a);
    fit(self, b);
}

void ssk_caches_forget(ssk_caches_t *self, int32_t block)
{
    if (self->problem->n_levels == 0)
        return;
    while (self->holder[block] != self->end)
        ssk_caches_drop(self, self->holder[block]);
    self->dirty[block] = 0;
}

/* Checks the ring of a slice; *in_lists counts entries of all of them. */
static bool is_ring_sound(const ssk_caches_t *self, int32_t slice, int64_t capacity, size_t *in_lists)
{
    int32_t newer = slice;
    int64_t sum = 0;
    for (int32_t e = self->entries[slice].older; e != slice; newer = e, e = self->entries[e].older) {
        if (self->entries[e].slice != slice || self->entries[e].newer != newer ||
            ssk_caches_find(self, slice, self->entries[e].block) != e || ++*in_lists > self->n_live)
            return false;
        sum += self->entries[e].n_bytes;
    }
    return self->entries[slice].newer == newer && sum == self->resident[slice] && sum <= capacity;
}

int ssk_caches_verify(const ssk_caches_t *self)
{
    const ssk_problem_t *p = self->problem;
    size_t in_lists = 0, in_blocks = 0, in_table = 0;
    if (p->n_levels == 0)
        return SSK_OK;
    for (int32_t level = 0; level < p->n_levels; level++) {
        int32_t n = n_slices_of(self, level);
        for (int32_t i = 0; i < n * p->n_cache_instances[level]; i++)
            if (!is_ring_sound(self, self->first_slice[level] + i, slice_bytes_of(self, level, 0)[i], &in_lists))
                return SSK_ERR_INVARIANT;
    }
    for (int32_t block = 0; block < p->n_blocks; block++) {
        bool is_there = true;
        if (self->writer != NULL && self->writer[block] != SSK_NONE)
            ssk_caches_held_by(self, p->transfer_level, self->writer[block], block, &is_there);
        if (!is_there || self->dirty[block] < 0 || self->dirty[block] > ssk_writeback_held(self, block, self->dirty[block]))
            return SSK_ERR_INVARIANT;
        for (int32_t e = self->holder[block]; e != self->end; e = self->entries[e].following)
            if (self->entries[e].block != block || ++in_blocks > self->n_live)
                return SSK_ERR_INVARIANT;
    }
    for (size_t place = 0; place <= self->table_mask; place++)
        in_table += self->table[place] >= 0;
    return in_lists == self->n_live && in_blocks == self->n_live && in_table == self->n_live ? SSK_OK
                                                                                              : SSK_ERR_INVARIANT;
}

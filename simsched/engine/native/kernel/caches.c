#include "caches.h"

/* Shares below this are multiplied out, so that they never vanish. */
static const double LEAST_KEPT = 1e-150;

int ssk_caches_alloc(ssk_caches_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    const size_t initial = 64;
    size_t n_levels = (size_t)problem->n_levels;
    memset(self, 0, sizeof(*self));
    self->problem = problem;
    self->allocator = allocator;
    self->free_entry = SSK_NONE;
    self->first_instance = ssk_new(allocator, n_levels, sizeof(*self->first_instance));
    if (self->first_instance == NULL)
        return SSK_ERR_MEMORY;
    for (size_t level = 0; level < n_levels; level++) {
        self->first_instance[level] = self->n_instances;
        self->n_instances += problem->n_cache_instances[level];
    }
    if (n_levels == 0)
        return SSK_OK;
    size_t n_instances = (size_t)self->n_instances, n_blocks = (size_t)problem->n_blocks;
    self->resident = ssk_new(allocator, n_instances, sizeof(*self->resident));
    self->kept = ssk_new(allocator, n_instances, sizeof(*self->kept));
    self->filled = ssk_new(allocator, n_instances, sizeof(*self->filled));
    self->holder = ssk_new(allocator, n_blocks, sizeof(*self->holder));
    self->table = ssk_new(allocator, initial, sizeof(*self->table));
    self->entries = ssk_new(allocator, n_instances + 1, sizeof(*self->entries));
    if (!self->resident || !self->kept || !self->filled || !self->holder || !self->table || !self->entries)
        return SSK_ERR_MEMORY;
    for (size_t i = 0; i < n_instances; i++)
        self->kept[i] = 1.0;
    if (problem->transfer_level != SSK_NONE) {
        self->writer = ssk_new(allocator, n_blocks, sizeof(*self->writer));
        if (self->writer == NULL)
            return SSK_ERR_MEMORY;
        for (size_t block = 0; block < n_blocks; block++)
            self->writer[block] = SSK_NONE;
    }
    self->end = self->n_instances;
    self->n_entries = self->capacity = n_instances + 1;
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
    ssk_delete(allocator, self->first_instance);
    ssk_delete(allocator, self->resident);
    ssk_delete(allocator, self->kept);
    ssk_delete(allocator, self->filled);
    ssk_delete(allocator, self->holder);
    ssk_delete(allocator, self->writer);
    ssk_delete(allocator, self->entries);
    ssk_delete(allocator, self->table);
    memset(self, 0, sizeof(*self));
}

/* Place in the table where the search for (instance, block) begins. */
static inline size_t hash(const ssk_caches_t *self, int32_t instance, int32_t block)
{
    uint64_t key = ((uint64_t)(uint32_t)instance << 32) | (uint32_t)block;
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & self->table_mask;
}

static inline size_t next_place(const ssk_caches_t *self, size_t place)
{
    return (place + 1) & self->table_mask;
}

static int32_t find(const ssk_caches_t *self, int32_t instance, int32_t block)
{
    for (size_t place = hash(self, instance, block);; place = next_place(self, place)) {
        int32_t entry = self->table[place];
        if (entry < 0 || (self->entries[entry].instance == instance && self->entries[entry].block == block))
            return entry;
    }
}

static void table_insert(ssk_caches_t *self, int32_t entry)
{
    size_t place = hash(self, self->entries[entry].instance, self->entries[entry].block);
    while (self->table[place] >= 0)
        place = next_place(self, place);
    self->table[place] = entry;
}

/* Removes an entry and moves later ones of its run forward, so that searches never meet a gap. */
static void table_remove(ssk_caches_t *self, int32_t entry)
{
    size_t gap = hash(self, self->entries[entry].instance, self->entries[entry].block);
    while (self->table[gap] != entry)
        gap = next_place(self, gap);
    for (size_t place = next_place(self, gap); self->table[place] >= 0; place = next_place(self, place)) {
        const ssk_cached_t *other = &self->entries[self->table[place]];
        size_t home = hash(self, other->instance, other->block);
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

static void unlink_from_instance(ssk_caches_t *self, int32_t entry)
{
    const ssk_cached_t *e = &self->entries[entry];
    self->entries[e->newer].older = e->older;
    self->entries[e->older].newer = e->newer;
}

static void link_as_newest(ssk_caches_t *self, int32_t entry)
{
    ssk_cached_t *e = &self->entries[entry], *instance = &self->entries[e->instance];
    e->newer = e->instance;
    e->older = instance->older;
    self->entries[e->older].newer = entry;
    instance->older = entry;
}

/* Bytes of an entry that an instance with shares still holds; 0 without shares. */
static double share_of(const ssk_caches_t *self, const ssk_cached_t *entry)
{
    return entry->then > 0.0 ? entry->share_bytes * (self->kept[entry->instance] / entry->then) : 0.0;
}

/* Whole bytes of an entry that its instance holds. */
static int64_t bytes_of(const ssk_caches_t *self, int32_t entry)
{
    const ssk_cached_t *e = &self->entries[entry];
    return e->then > 0.0 ? (int64_t)share_of(self, e) : e->n_bytes;
}

/* Removes an entry from everything and frees it. */
static void drop(ssk_caches_t *self, int32_t entry)
{
    ssk_cached_t *e = &self->entries[entry];
    table_remove(self, entry);
    unlink_from_instance(self, entry);
    *(e->previous >= 0 ? &self->entries[e->previous].following : &self->holder[e->block]) = e->following;
    self->entries[e->following].previous = e->previous;
    self->resident[e->instance] -= e->n_bytes;
    self->filled[e->instance] -= share_of(self, e);
    if (self->writer != NULL && self->writer[e->block] == e->instance)
        self->writer[e->block] = SSK_NONE;
    e->instance = SSK_NONE;
    e->following = self->free_entry;
    self->free_entry = entry;
    self->n_live--;
}

/* Stores a new, empty entry as the most recent one of an instance. */
static int insert(ssk_caches_t *self, int32_t instance, int32_t block, int32_t *entry_ret)
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
    e->share_bytes = e->then = 0.0;
    e->instance = instance;
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

/* Gives all entries of an instance the bytes that they have now. */
static void multiply_out(ssk_caches_t *self, int32_t instance)
{
    for (int32_t e = self->entries[instance].older; e != instance; e = self->entries[e].older) {
        self->entries[e].share_bytes = share_of(self, &self->entries[e]);
        self->entries[e].then = 1.0;
    }
    self->kept[instance] = 1.0;
}

/* Lets an entry of an instance with shares grow to `footprint` bytes, as far as these are admitted. */
static void admit(ssk_caches_t *self, int32_t level, int32_t entry, double footprint)
{
    int32_t instance = self->entries[entry].instance;
    double held = share_of(self, &self->entries[entry]), capacity = (double)self->problem->cache_capacity_bytes[level];
    if (footprint > held) {
        double others = self->filled[instance] - held, lacking = footprint - held;
        double room = capacity - self->filled[instance];
        if (room < 0.0)
            room = 0.0;
        if (lacking > room) {
            held += room + self->problem->cache_admission[level] * (lacking - room);
            if (others > capacity - held) {
                self->kept[instance] *= (capacity - held) / others;
                others = capacity - held;
            }
        } else
            held += lacking;
        self->filled[instance] = others + held;
        if (self->kept[instance] < LEAST_KEPT)
            multiply_out(self, instance);
    }
    self->entries[entry].share_bytes = held;
    self->entries[entry].then = self->kept[instance];
}

/* Looks `want` bytes up in one instance; *missing_ret is what it does not hold. */
static int look_up(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t want,
                   int64_t *missing_ret)
{
    int64_t capacity = self->problem->cache_capacity_bytes[level];
    int64_t footprint = ssk_min(want, self->problem->block_bytes[block]);
    *missing_ret = want;
    if (footprint > capacity)
        return SSK_OK;
    int32_t entry = find(self, instance, block);
    if (entry >= 0) {
        if (self->entries[instance].older != entry) {
            unlink_from_instance(self, entry);
            link_as_newest(self, entry);
        }
    } else {
        int status = insert(self, instance, block, &entry);
        if (status != SSK_OK)
            return status;
    }
    int64_t held = bytes_of(self, entry);
    *missing_ret = footprint - ssk_min(footprint, held);
    if (self->problem->cache_admission[level] > 0.0) {
        admit(self, level, entry, (double)footprint);
    } else if (footprint > held) {
        self->resident[instance] += footprint - held;
        self->entries[entry].n_bytes = footprint;
        while (self->resident[instance] > capacity)
            drop(self, self->entries[instance].newer);
    }
    return SSK_OK;
}

/* Takes what another instance has written over from it; returns the bytes. */
static int64_t take_over(ssk_caches_t *self, int32_t instance, int32_t block, int64_t missing, int64_t *time)
{
    const ssk_problem_t *p = self->problem;
    int32_t writer = self->writer[block];
    if (missing == 0 || writer == SSK_NONE || writer == instance)
        return 0;
    int64_t there = bytes_of(self, find(self, writer, block)), moved = ssk_min(missing, there);
    if (moved == there)
        self->writer[block] = SSK_NONE;
    if (moved > 0) {
        *time = ssk_add_ps(*time, p->transfer_latency_ps);
        *time = ssk_add_ps(*time, ssk_ceil_ps((double)moved / p->transfer_rate));
    }
    return moved;
}

/* Bytes of a block in other instances of the level that passes on than `own`. */
static int64_t elsewhere(const ssk_caches_t *self, int32_t own, int32_t block)
{
    int32_t level = self->problem->transfer_level, first = self->first_instance[level];
    int64_t sum = 0;
    for (int32_t e = self->holder[block]; e != self->end; e = self->entries[e].following) {
        int32_t instance = self->entries[e].instance;
        if (instance != own && instance >= first && instance < first + self->problem->n_cache_instances[level])
            sum += bytes_of(self, e);
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
    size_t place = (size_t)p->transfer_level * (size_t)p->n_workers + (size_t)worker;
    int32_t own = self->first_instance[p->transfer_level] + p->cache_instance[place];
    int64_t upgraded = ssk_min(ssk_min(updated, had), elsewhere(self, own, block));
    if (upgraded <= 0)
        return 0;
    return ssk_add_ps(p->transfer_latency_ps, ssk_ceil_ps((double)upgraded / p->upgrade_rate));
}

int ssk_caches_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                      int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail, int64_t *wait)
{
    const ssk_problem_t *p = self->problem;
    ssk_cache_counts_t *counts = self->counts + (size_t)p->worker_domain[worker] * (size_t)p->n_levels;
    int64_t want = n_bytes, passed = 0, lacked = 0;
    for (int32_t level = 0; level < p->n_levels && want > 0; level++) {
        int32_t instance =
            self->first_instance[level] + p->cache_instance[(size_t)level * (size_t)p->n_workers + (size_t)worker];
        int64_t missing;
        int status = look_up(self, level, instance, block, want, &missing);
        if (status != SSK_OK)
            return status;
        int64_t hit = want - missing;
        if (hit > 0) {
            int64_t time = ssk_add_ps(p->cache_latency_ps[level], ssk_ceil_ps((double)hit / p->cache_rate[level]));
            int64_t waited = ssk_ceil_ps((double)time * p->cache_wait[level]);
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
    return SSK_OK;
}

/* Tells whether a worker uses an instance on some level. */
static bool uses(const ssk_caches_t *self, int32_t worker, int32_t instance)
{
    const ssk_problem_t *p = self->problem;
    for (int32_t level = 0; level < p->n_levels; level++)
        if (self->first_instance[level] + p->cache_instance[(size_t)level * (size_t)p->n_workers + (size_t)worker] ==
            instance)
            return true;
    return false;
}

void ssk_caches_write(ssk_caches_t *self, int32_t worker, int32_t block)
{
    const ssk_problem_t *p = self->problem;
    if (p->n_levels == 0)
        return;
    for (int32_t entry = self->holder[block]; entry != self->end;) {
        int32_t following = self->entries[entry].following;
        if (!uses(self, worker, self->entries[entry].instance))
            drop(self, entry);
        entry = following;
    }
    if (self->writer != NULL) {
        size_t place = (size_t)p->transfer_level * (size_t)p->n_workers + (size_t)worker;
        int32_t own = self->first_instance[p->transfer_level] + p->cache_instance[place];
        self->writer[block] = find(self, own, block) >= 0 ? own : SSK_NONE;
    }
}

int ssk_caches_verify(const ssk_caches_t *self)
{
    size_t in_lists = 0, in_blocks = 0, in_table = 0;
    if (self->problem->n_levels == 0)
        return SSK_OK;
    for (int32_t level = 0; level < self->problem->n_levels; level++) {
        for (int32_t i = 0; i < self->problem->n_cache_instances[level]; i++) {
            int32_t instance = self->first_instance[level] + i, newer = instance;
            int64_t sum = 0;
            double shares = 0.0;
            for (int32_t e = self->entries[instance].older; e != instance; newer = e, e = self->entries[e].older) {
                if (self->entries[e].instance != instance || self->entries[e].newer != newer ||
                    find(self, instance, self->entries[e].block) != e || ++in_lists > self->n_live)
                    return SSK_ERR_INVARIANT;
                sum += self->entries[e].n_bytes;
                shares += share_of(self, &self->entries[e]);
            }
            double least = 1e-6 * (double)self->problem->cache_capacity_bytes[level] + 1e-6;
            if (shares > self->filled[instance] + least || shares < self->filled[instance] - least)
                return SSK_ERR_INVARIANT;
            if (self->entries[instance].newer != newer || sum != self->resident[instance] ||
                sum > self->problem->cache_capacity_bytes[level])
                return SSK_ERR_INVARIANT;
        }
    }
    for (int32_t block = 0; block < self->problem->n_blocks; block++)
        if (self->writer != NULL && self->writer[block] != SSK_NONE && find(self, self->writer[block], block) < 0)
            return SSK_ERR_INVARIANT;
    for (int32_t block = 0; block < self->problem->n_blocks; block++)
        for (int32_t e = self->holder[block]; e != self->end; e = self->entries[e].following)
            if (self->entries[e].block != block || ++in_blocks > self->n_live)
                return SSK_ERR_INVARIANT;
    for (size_t place = 0; place <= self->table_mask; place++)
        in_table += self->table[place] >= 0;
    return in_lists == self->n_live && in_blocks == self->n_live && in_table == self->n_live ? SSK_OK
                                                                                              : SSK_ERR_INVARIANT;
}

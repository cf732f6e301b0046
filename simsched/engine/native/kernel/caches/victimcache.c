#include "caches/victimcache.h"

#include "caches/writeback.h"

/* Looks bytes up in a slice that is filled by evictions, and gives up what is found unless the block is shared. */
static int64_t give(ssk_caches_t *self, int32_t slice, int32_t block, int64_t wanted)
{
    int32_t entry = ssk_caches_find(self, slice, block);
    int64_t found = entry < 0 ? 0 : ssk_min(wanted, self->entries[entry].n_bytes);
    if (found > 0 && self->shared[block])
        ssk_caches_make_newest(self, entry);
    else if (found > 0)
        ssk_caches_shrink(self, entry, self->entries[entry].n_bytes - found);
    return found;
}

/* Takes n_bytes of a block into an instance that is filled by evictions. */
static int put(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t n_bytes)
{
    int32_t n = n_slices_of(self, level), first = slice_of(self, level, instance);
    const int64_t *capacity = slice_bytes_of(self, level, instance);
    int64_t whole = self->problem->block_bytes[block];
    for (int32_t i = 0; i < n; i++) {
        int64_t share = part(n_bytes, i, n), held;
        if (share > capacity[i])
            ssk_caches_displace(self, first + i, block, true);
        if (share == 0 || share > capacity[i])
            continue;
        int32_t entry = ssk_caches_find(self, first + i, block);
        share += entry < 0 ? 0 : self->entries[entry].n_bytes;
        int status = ssk_caches_enter(self, first + i, capacity[i], block,
                                      ssk_min(ssk_min(share, part(whole, i, n)), capacity[i]), &held);
        if (status != SSK_OK)
            return status;
    }
    return SSK_OK;
}

/* Keeps an entry that has been dropped until the access is over: only then is it known what caches still hold. */
static void note_left(ssk_caches_t *self, int32_t entry)
{
    self->entries[entry].following = self->first_left;
    self->first_left = entry;
}

/* Forgets what the level before has dropped; returns the first entry of that, for whoever still wants it. */
static int32_t take_dropped(ssk_caches_t *self)
{
    int32_t first = self->first_dropped;
    self->first_dropped = self->last_dropped = SSK_NONE;
    return first;
}

/* Fills an instance with what the level before has dropped, and with `passing` bytes of the block accessed. */
static int fill(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t passing)
{
    for (int32_t entry = take_dropped(self), following; entry >= 0; entry = following) {
        ssk_cached_t dropped = self->entries[entry];
        following = dropped.following;
        note_left(self, entry);
        int status = put(self, level, instance, dropped.block, dropped.n_bytes);
        if (status != SSK_OK)
            return status;
    }
    return put(self, level, instance, block, passing);
}

static void forget_dropped(ssk_caches_t *self)
{
    for (int32_t entry = take_dropped(self), following; entry >= 0; entry = following) {
        following = self->entries[entry].following;
        note_left(self, entry);
    }
}

int ssk_victimcache_look_up(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t want,
                            int64_t whole, int64_t *missing_ret)
{
    int32_t n = n_slices_of(self, level), first = slice_of(self, level, instance);
    const int64_t *capacity = slice_bytes_of(self, level, instance);
    bool gives = is_victim(self->problem, level);
    int64_t asked = gives ? self->fresh : whole, through = gives ? self->passing : whole;
    int64_t lacking = 0, fresh = 0, passing = 0;
    if (!gives)
        forget_dropped(self);
    for (int32_t i = 0; i < n; i++) {
        int64_t share = part(asked, i, n), passes = part(through, i, n), held = 0;
        if (passes > capacity[i]) {
            lacking += part(want > asked ? want : asked, i, n);
            fresh += share;
            passing += passes;
            if (!gives)
                ssk_caches_displace(self, first + i, block, true);
            continue;
        }
        if (gives) {
            held = give(self, first + i, block, share);
        } else {
            int status = ssk_caches_enter(self, first + i, capacity[i], block, share, &held);
            if (status != SSK_OK)
                return status;
        }
        lacking += share - ssk_min(share, held);
        fresh += share - ssk_min(share, held);
    }
    *missing_ret = ssk_min(want, lacking);
    self->fresh = fresh;
    self->passing = passing;
    return gives ? fill(self, level, instance, block, through) : SSK_OK;
}

int ssk_victimcache_pass_on(ssk_caches_t *self, int32_t level, int32_t worker, int32_t block)
{
    int status = SSK_OK;
    for (; status == SSK_OK && level < self->problem->n_levels && is_victim(self->problem, level); level++)
        status = fill(self, level, own_instance(self, level, worker), block, 0);
    forget_dropped(self);
    for (int32_t entry = self->first_left, following; entry >= 0; entry = following) {
        following = self->entries[entry].following;
        ssk_writeback_settle(self, self->entries[entry].block);
        release_entry(self, entry);
    }
    self->first_left = SSK_NONE;
    ssk_writeback_settle(self, block);
    return status;
}

void ssk_victimcache_note_sharing(ssk_caches_t *self, int32_t worker, int32_t block)
{
    if (self->holder[block] == self->end)
        self->shared[block] = 0;
    for (int32_t e = self->holder[block]; e != self->end && !self->shared[block]; e = self->entries[e].following)
        self->shared[block] = !is_own_slice(self, worker, self->entries[e].slice);
    if (!self->shared[block])
        ssk_writeback_hand_over(self, worker, block);
}

void ssk_victimcache_keep_rest(ssk_caches_t *self, int32_t worker, int32_t block)
{
    int64_t whole = self->problem->block_bytes[block], inside = 0;
    self->shared[block] = 0;
    for (int32_t level = 0; level < self->problem->n_levels; level++) {
        int32_t instance = own_instance(self, level, worker), n = n_slices_of(self, level);
        bool is_there, is_filled_by_misses = !is_victim(self->problem, level);
        for (int32_t i = 0; i < n && !is_filled_by_misses; i++) {
            int32_t entry = ssk_caches_find(self, slice_of(self, level, instance) + i, block);
            int64_t rest = part(whole > inside ? whole - inside : 0, i, n);
            if (entry >= 0)
                ssk_caches_shrink(self, entry, ssk_min(self->entries[entry].n_bytes, rest));
        }
        inside = ssk_caches_held_by(self, level, instance, block, &is_there) + (is_filled_by_misses ? 0 : inside);
    }
}

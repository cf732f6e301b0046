#include "writeback.h"

/* First level of those from which a block goes to memory: the last one filled by misses that has an entry of it. */
static int32_t first_keeper(const ssk_caches_t *self, int32_t worker, int32_t block)
{
    int32_t level = self->problem->n_levels - 1;
    for (bool is_there; level > 0; level--) {
        if (is_victim(self->problem, level))
            continue;
        ssk_caches_held_by(self, level, own_instance(self, level, worker), block, &is_there);
        if (is_there)
            break;
    }
    return level;
}

int64_t ssk_writeback_mark(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written)
{
    int64_t footprint = ssk_min(n_bytes, self->problem->block_bytes[block]), once = ssk_min(written, footprint);
    int64_t dirty = 0, unmarked = once;
    if (self->holder[block] == self->end)
        return written;
    for (int32_t level = first_keeper(self, worker, block); level < self->problem->n_levels; level++) {
        int32_t n = n_slices_of(self, level), first = slice_of(self, level, own_instance(self, level, worker));
        int64_t here = unmarked;
        for (int32_t i = 0; i < n; i++) {
            int32_t entry = ssk_caches_find(self, first + i, block);
            if (entry < 0)
                continue;
            ssk_cached_t *e = &self->entries[entry];
            dirty += e->n_dirty;
            e->n_dirty = ssk_max(e->n_dirty, ssk_min(part(here, i, n), e->n_bytes));
            unmarked -= ssk_min(unmarked, e->n_dirty);
        }
    }
    return once > dirty ? once - dirty : 0;
}

void ssk_writeback_add(ssk_caches_t *self, int32_t slice, int32_t block, int64_t n_dirty)
{
    int32_t entry = ssk_caches_find(self, slice, block);
    if (entry >= 0)
        self->entries[entry].n_dirty = ssk_min(self->entries[entry].n_dirty + n_dirty, self->entries[entry].n_bytes);
}

void ssk_writeback_rescue(ssk_caches_t *self, int32_t worker, int32_t block)
{
    int32_t level = first_keeper(self, worker, block), n = n_slices_of(self, level);
    int32_t first = slice_of(self, level, own_instance(self, level, worker));
    for (int32_t i = 0; i < n; i++)
        ssk_writeback_add(self, first + i, block, part(self->rescued_dirty, i, n));
    self->rescued_dirty = 0;
}

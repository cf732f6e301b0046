/* Slices of cache instances, as caches.c and victimcache.c see them. */
#ifndef SSK_SLICES_H
#define SSK_SLICES_H

#include "caches.h"

/* Slices that each instance of a level is divided into. */
static inline int32_t n_slices_of(const ssk_caches_t *self, int32_t level)
{
    return self->problem->cache_slices[level];
}

/* First slice of an instance. */
static inline int32_t slice_of(const ssk_caches_t *self, int32_t level, int32_t instance)
{
    return self->first_slice[level] + instance * n_slices_of(self, level);
}

/* Capacities of the slices of an instance. */
static inline const int64_t *slice_bytes_of(const ssk_caches_t *self, int32_t level, int32_t instance)
{
    return self->problem->cache_slice_bytes + slice_of(self, level, instance);
}

/* Instance of a level that a worker uses. */
static inline int32_t own_instance(const ssk_caches_t *self, int32_t level, int32_t worker)
{
    return self->problem->cache_instance[(size_t)level * (size_t)self->problem->n_workers + (size_t)worker];
}

/* Part of some bytes in slice `number` of n. */
static inline int64_t part(int64_t n_bytes, int32_t number, int32_t n)
{
    int64_t rest = n == 1 ? 0 : n_bytes % n;
    return (n == 1 ? n_bytes : n_bytes / n) + rest * (number + 1) / n - rest * number / n;
}

/* Whether a level is filled by what the level before drops. */
static inline bool is_victim(const ssk_problem_t *problem, int32_t level)
{
    return problem->cache_is_victim != NULL && problem->cache_is_victim[level];
}

/* Entry of a block in a slice, or something negative. */
int32_t ssk_caches_find(const ssk_caches_t *self, int32_t slice, int32_t block);

/* Frees an entry that is in no slice. */
static inline void release_entry(ssk_caches_t *self, int32_t entry)
{
    self->entries[entry].following = self->free_entry;
    self->free_entry = entry;
}

/* Removes an entry from everything and frees it. */
void ssk_caches_drop(ssk_caches_t *self, int32_t entry);

/* Leaves n_bytes of what an entry has. */
void ssk_caches_shrink(ssk_caches_t *self, int32_t entry, int64_t n_bytes);

/* Makes an entry the most recent one of its slice. */
void ssk_caches_make_newest(ssk_caches_t *self, int32_t entry);

/* Makes sure that a slice has `footprint` bytes of a block; what is dropped for them joins the list of what has been dropped.
 * *held_ret is what it had before. */
int ssk_caches_enter(ssk_caches_t *self, int32_t slice, int64_t capacity, int32_t block, int64_t footprint,
                     int64_t *held_ret) SSK_CHECK_RESULT;

/* Drops all entries of a slice but that of a block, of which more passes through it than it has room for. */
void ssk_caches_displace(ssk_caches_t *self, int32_t slice, int32_t block, bool is_passing_on);

/* Bytes of a block in an instance; *is_there_ret: whether it has an entry of it. */
int64_t ssk_caches_held_by(const ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, bool *is_there_ret);

/* Tells whether a slice belongs to an instance that a worker uses. */
bool ssk_caches_uses(const ssk_caches_t *self, int32_t worker, int32_t slice);

#endif

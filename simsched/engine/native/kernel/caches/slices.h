/* Slices of cache instances, as caches.c and victimcache.c see them. */
#ifndef SSK_SLICES_H
#define SSK_SLICES_H

#include "caches/caches.h"

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

/* Tells whether a slice belongs to an instance that a worker uses. */
static inline bool is_own_slice(const ssk_caches_t *self, int32_t worker, int32_t slice)
{
    for (int32_t level = 0; level < self->problem->n_levels; level++) {
        int32_t first = slice_of(self, level, own_instance(self, level, worker));
        if (slice >= first && slice < first + n_slices_of(self, level))
            return true;
    }
    return false;
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

/* Frees an entry that is in no slice. */
static inline void release_entry(ssk_caches_t *self, int32_t entry)
{
    self->entries[entry].following = self->free_entry;
    self->free_entry = entry;
}

#endif

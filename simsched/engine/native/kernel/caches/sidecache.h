/*
 * Memory-side caches: direct-mapped caches of granules in front of memory nodes.
 *
 * A granule lies in a physical frame; frame f can only be in slot f % slots of the cache of its node. Frames are
 * numbered through all memory, so the frame itself is the tag.
 */
#ifndef SSK_SIDECACHE_H
#define SSK_SIDECACHE_H

#include "base.h"

typedef struct {
    const ssk_problem_t *problem;
    int64_t **tag; /* per node: frame in each slot, -1 when empty; NULL without a cache */
} ssk_sidecache_t;

int ssk_sidecache_alloc(ssk_sidecache_t *self, const ssk_allocator_t *allocator,
                        const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_sidecache_free(ssk_sidecache_t *self, const ssk_allocator_t *allocator);
int ssk_sidecache_verify(const ssk_sidecache_t *self) SSK_CHECK_RESULT;

/*
 * Looks up the granules in which bytes `begin` to `end` of a block are, at least one byte, in order, leaves them resident, and
 * returns the share of n_bytes that hits.
 */
int64_t ssk_sidecache_access(ssk_sidecache_t *self, int32_t node, int32_t block, int64_t begin, int64_t end,
                             int64_t n_bytes);

#endif

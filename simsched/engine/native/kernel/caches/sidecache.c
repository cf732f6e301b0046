#include "caches/sidecache.h"

int ssk_sidecache_alloc(ssk_sidecache_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    self->problem = problem;
    self->tag = ssk_new(allocator, (size_t)problem->n_nodes, sizeof(*self->tag));
    if (self->tag == NULL)
        return SSK_ERR_MEMORY;
    for (int32_t node = 0; node < problem->n_nodes; node++) {
        size_t slots = (size_t)problem->node_slots[node];
        if (slots == 0)
            continue;
        self->tag[node] = ssk_new(allocator, slots, sizeof(**self->tag));
        if (self->tag[node] == NULL)
            return SSK_ERR_MEMORY;
        memset(self->tag[node], -1, slots * sizeof(**self->tag));
    }
    return SSK_OK;
}

void ssk_sidecache_free(ssk_sidecache_t *self, const ssk_allocator_t *allocator)
{
    for (int32_t node = 0; self->tag != NULL && node < self->problem->n_nodes; node++)
        ssk_delete(allocator, self->tag[node]);
    ssk_delete(allocator, self->tag);
    self->tag = NULL;
}

int64_t ssk_sidecache_access(ssk_sidecache_t *self, int32_t node, int32_t block, int64_t begin, int64_t end,
                             int64_t n_bytes)
{
    const ssk_problem_t *p = self->problem;
    int64_t first = p->granule_ptr[block], granules = p->granule_ptr[block + 1] - first;
    int64_t slots = p->node_slots[node], hits = 0;
    int64_t *tag = self->tag[node];
    if (granules == 0)
        return 0;
    int64_t per_granule = (p->block_bytes[block] - 1) / granules + 1;
    int64_t last = (end - 1) / per_granule, touched = last - begin / per_granule + 1;
    for (int64_t i = begin / per_granule; i <= last; i++) {
        int64_t frame = p->granule_frame[first + i];
        int64_t *place = &tag[frame % slots];
        hits += *place == frame;
        *place = frame;
    }
    /* n_bytes * hits // touched without overflow */
    return n_bytes / touched * hits + n_bytes % touched * hits / touched;
}

int ssk_sidecache_verify(const ssk_sidecache_t *self)
{
    for (int32_t node = 0; node < self->problem->n_nodes; node++)
        for (int64_t slot = 0; slot < self->problem->node_slots[node]; slot++)
            if (self->tag[node][slot] >= 0 && self->tag[node][slot] % self->problem->node_slots[node] != slot)
                return SSK_ERR_INVARIANT;
    return SSK_OK;
}

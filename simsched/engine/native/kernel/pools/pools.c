#include "pools/pools.h"

void ssk_pools_init(ssk_pools_t *self)
{
    memset(self, 0, sizeof(*self));
}

void ssk_pools_free(ssk_pools_t *self, const ssk_allocator_t *allocator)
{
    for (size_t i = 0; i < self->n_rings; i++)
        ssk_delete(allocator, self->pools[i].ring);
    ssk_delete(allocator, self->pools);
    ssk_delete(allocator, self->base);
    ssk_delete(allocator, self->filled);
    ssk_delete(allocator, self->filled_total);
    ssk_pools_init(self);
}

int ssk_pools_reset(ssk_pools_t *self, const ssk_allocator_t *allocator, int32_t n_groups, int32_t n_domains)
{
    size_t groups = (size_t)n_groups, filled = groups * (size_t)n_domains;
    int status = ssk_grow(allocator, &self->base, &self->base_capacity, groups + 1, sizeof(*self->base));
    if (status == SSK_OK)
        status = ssk_grow(allocator, &self->filled, &self->filled_capacity, filled, sizeof(*self->filled));
    if (status == SSK_OK)
        status = ssk_grow(allocator, &self->filled_total, &self->total_capacity, groups,
                          sizeof(*self->filled_total));
    if (status != SSK_OK)
        return status;
    self->n_groups = n_groups;
    self->n_domains = n_domains;
    memset(self->base, 0, (groups + 1) * sizeof(*self->base));
    memset(self->filled, 0, filled * sizeof(*self->filled));
    memset(self->filled_total, 0, groups * sizeof(*self->filled_total));
    return SSK_OK;
}

int ssk_pools_add_group(ssk_pools_t *self, const ssk_allocator_t *allocator, int32_t group, int32_t n_instances)
{
    size_t end = (size_t)self->base[group] + (size_t)n_instances;
    int status = ssk_grow(allocator, &self->pools, &self->pools_capacity, end, sizeof(*self->pools));
    if (status != SSK_OK)
        return status;
    if (self->n_rings < end) {
        memset(&self->pools[self->n_rings], 0, (end - self->n_rings) * sizeof(*self->pools));
        self->n_rings = end;
    }
    self->base[group + 1] = (int32_t)end;
    for (int32_t i = self->base[group]; i < self->base[group + 1]; i++) {
        self->pools[i].head = 0;
        self->pools[i].count = 0;
        self->pools[i].lock_free = 0;
    }
    return SSK_OK;
}

int ssk_pool_grow(ssk_pool_t *pool, const ssk_allocator_t *allocator)
{
    uint32_t capacity = pool->capacity == 0 ? 16 : 2 * pool->capacity;
    if (capacity < pool->capacity)
        return SSK_ERR_MEMORY;
    int32_t *ring = allocator->resize(allocator->context, pool->ring, (size_t)capacity * sizeof(*ring));
    if (ring == NULL)
        return SSK_ERR_MEMORY;
    /* Tasks before `head` in the full ring follow those behind it; continue them in the new half. */
    uint32_t head = pool->capacity == 0 ? 0 : pool->head & (pool->capacity - 1);
    memcpy(ring + pool->capacity, ring, (size_t)head * sizeof(*ring));
    pool->ring = ring;
    pool->head = head;
    pool->capacity = capacity;
    return SSK_OK;
}

bool ssk_pools_remove(ssk_pools_t *self, int32_t group, ssk_pool_t *pool, int32_t task)
{
    uint32_t near = 0, far = pool->count, mask = pool->capacity - 1; /* what is left to look at: near to far - 1 */
    int32_t *ring = pool->ring;
    while (near < far && ring[(pool->head + near) & mask] != task && ring[(pool->head + far - 1) & mask] != task) {
        near++;
        far--;
    }
    if (near >= far)
        return false;
    if (ring[(pool->head + near) & mask] == task) {
        for (; near > 0; near--)
            ring[(pool->head + near) & mask] = ring[(pool->head + near - 1) & mask];
        pool->head++;
    } else {
        for (; far < pool->count; far++)
            ring[(pool->head + far - 1) & mask] = ring[(pool->head + far) & mask];
    }
    if (--pool->count == 0)
        ssk_pools_count(self, group, pool, -1);
    return true;
}

int ssk_pools_verify(const ssk_pools_t *self)
{
    for (int32_t group = 0; group < self->n_groups; group++) {
        int32_t total = 0;
        for (int32_t domain = 0; domain < self->n_domains; domain++) {
            int32_t filled = 0;
            for (int32_t i = self->base[group]; i < self->base[group + 1]; i++) {
                const ssk_pool_t *pool = &self->pools[i];
                if (pool->count > pool->capacity || (pool->capacity & (pool->capacity - 1)) != 0)
                    return SSK_ERR_INVARIANT;
                filled += pool->is_candidate && pool->count > 0 && pool->domain == domain;
            }
            if (filled != self->filled[(size_t)group * (size_t)self->n_domains + (size_t)domain])
                return SSK_ERR_INVARIANT;
            total += filled;
        }
        if (total != self->filled_total[group])
            return SSK_ERR_INVARIANT;
    }
    return SSK_OK;
}

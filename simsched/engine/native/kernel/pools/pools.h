/*
 * Task pools: a ring of task numbers per pool instance.
 *
 * Tasks are kept in the order of their push; they leave at either end, or from between in time that grows with
 * the distance from the nearer end. Instances of group g are pools base[g] to base[g + 1] - 1. Per group and domain the number of instances that are
 * candidates for stealing and not empty is kept, so that a search learns in O(1) that there is nothing to find.
 *
 * Invariants: filled[g * n_domains + d] counts the candidate instances of group g in domain d with count > 0;
 * filled_total[g] is its sum; a ring has a capacity of a power of two, or none.
 */
#ifndef SSK_POOLS_H
#define SSK_POOLS_H

#include "base.h"

typedef struct {
    int32_t *ring;
    uint32_t head, count, capacity;
    int32_t domain;    /* first domain of the instance */
    bool is_candidate; /* others may steal from it: false for instances of inactive workers */
    int64_t lock_free; /* time from which on the lock is free */
} ssk_pool_t;

typedef struct {
    ssk_pool_t *pools;
    int32_t *base; /* n_groups + 1 */
    int32_t *filled, *filled_total;
    size_t pools_capacity, base_capacity, filled_capacity, total_capacity;
    int32_t n_groups, n_domains;
    size_t n_rings; /* pools that may own a ring: the first n_rings */
} ssk_pools_t;

void ssk_pools_init(ssk_pools_t *self);
void ssk_pools_free(ssk_pools_t *self, const ssk_allocator_t *allocator);
int ssk_pools_verify(const ssk_pools_t *self) SSK_CHECK_RESULT;

/* Empties everything and lays out n_groups groups; their sizes follow with ssk_pools_add_group(). */
int ssk_pools_reset(ssk_pools_t *self, const ssk_allocator_t *allocator, int32_t n_groups,
                    int32_t n_domains) SSK_CHECK_RESULT;

/* Adds n instances to the group that comes next; each needs its domain and is_candidate set. */
int ssk_pools_add_group(ssk_pools_t *self, const ssk_allocator_t *allocator, int32_t group,
                        int32_t n_instances) SSK_CHECK_RESULT;

int ssk_pool_grow(ssk_pool_t *pool, const ssk_allocator_t *allocator) SSK_CHECK_RESULT;

/* Removes a task from a pool, the others keeping their order; returns whether it was there. */
bool ssk_pools_remove(ssk_pools_t *self, int32_t group, ssk_pool_t *pool, int32_t task) SSK_CHECK_RESULT;

static inline ssk_pool_t *ssk_pools_at(const ssk_pools_t *self, int32_t group, int32_t instance)
{
    return &self->pools[self->base[group] + instance];
}

static inline int32_t ssk_pools_n_instances(const ssk_pools_t *self, int32_t group)
{
    return self->base[group + 1] - self->base[group];
}

/* Adds `change` to the counts of instances that are not empty. */
static inline void ssk_pools_count(ssk_pools_t *self, int32_t group, const ssk_pool_t *pool, int32_t change)
{
    if (pool->is_candidate) {
        self->filled[(size_t)group * (size_t)self->n_domains + (size_t)pool->domain] += change;
        self->filled_total[group] += change;
    }
}

/* Adds a task as the newest of a pool. */
SSK_CHECK_RESULT
static inline int ssk_pools_push(ssk_pools_t *self, const ssk_allocator_t *allocator, int32_t group,
                                 ssk_pool_t *pool, int32_t task)
{
    if (pool->count == pool->capacity) {
        int status = ssk_pool_grow(pool, allocator);
        if (status != SSK_OK)
            return status;
    }
    if (pool->count == 0)
        ssk_pools_count(self, group, pool, 1);
    pool->ring[(pool->head + pool->count++) & (pool->capacity - 1)] = task;
    return SSK_OK;
}

/* The task of a pool that is not empty which ssk_pools_take() would remove. */
static inline int32_t ssk_pools_look(const ssk_pool_t *pool, bool newest)
{
    assert(pool->count > 0);
    return pool->ring[(pool->head + (newest ? pool->count - 1 : 0)) & (pool->capacity - 1)];
}

/* Removes and returns a task of a pool that is not empty. */
static inline int32_t ssk_pools_take(ssk_pools_t *self, int32_t group, ssk_pool_t *pool, bool newest)
{
    assert(pool->count > 0);
    uint32_t place = pool->head;
    if (--pool->count == 0)
        ssk_pools_count(self, group, pool, -1);
    if (newest)
        place += pool->count;
    else
        pool->head++;
    return pool->ring[place & (pool->capacity - 1)];
}

#endif

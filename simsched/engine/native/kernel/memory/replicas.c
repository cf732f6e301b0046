#include "memory/replicas.h"

int ssk_replicas_alloc(ssk_replicas_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    size_t n = (size_t)problem->n_blocks * (size_t)problem->n_replicas;
    self->n_each = problem->n_replicas;
    self->node = NULL;
    if (n == 0)
        return SSK_OK;
    self->node = ssk_new(allocator, n, sizeof(*self->node));
    if (self->node == NULL)
        return SSK_ERR_MEMORY;
    memcpy(self->node, problem->replica, n * sizeof(*self->node));
    return SSK_OK;
}

void ssk_replicas_free(ssk_replicas_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->node);
    self->node = NULL;
}

bool ssk_replicas_has(const ssk_replicas_t *self, int32_t block, int32_t node)
{
    int64_t first = (int64_t)block * self->n_each;
    for (int64_t i = first; i < first + self->n_each; i++)
        if (self->node[i] == node)
            return true;
    return false;
}

int32_t ssk_replicas_nearest(const ssk_replicas_t *self, const ssk_problem_t *problem, int32_t block, int32_t home,
                             int32_t domain)
{
    const int32_t *nodes = self->node + (size_t)block * (size_t)self->n_each;
    const int32_t *rank = problem->node_rank + (size_t)domain * (size_t)problem->n_nodes;
    int32_t nearest = home;
    for (int32_t i = 0; i < self->n_each; i++)
        if (nodes[i] >= 0 && rank[nodes[i]] < rank[nearest])
            nearest = nodes[i];
    return nearest;
}

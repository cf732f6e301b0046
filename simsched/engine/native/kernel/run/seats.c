#include "run/seats.h"

static void *copy(const ssk_allocator_t *allocator, const void *array, size_t count, size_t item_bytes)
{
    void *own = ssk_new(allocator, count, item_bytes);
    if (own != NULL && count > 0)
        memcpy(own, array, count * item_bytes);
    return own;
}

int ssk_seats_alloc(ssk_seats_t *self, const ssk_allocator_t *allocator, ssk_problem_t *problem)
{
    size_t n = (size_t)problem->n_workers;
    self->core = copy(allocator, problem->worker_core, n, sizeof(*self->core));
    self->module = copy(allocator, problem->worker_module, n, sizeof(*self->module));
    self->domain = copy(allocator, problem->worker_domain, n, sizeof(*self->domain));
    self->kind = copy(allocator, problem->worker_kind, n, sizeof(*self->kind));
    self->rate = copy(allocator, problem->worker_rate, n * (size_t)problem->n_smt, sizeof(*self->rate));
    self->cache = copy(allocator, problem->cache_instance, n * (size_t)problem->n_levels, sizeof(*self->cache));
    if (!self->core || !self->module || !self->domain || !self->kind || !self->rate || !self->cache)
        return SSK_ERR_MEMORY;
    problem->worker_core = self->core;
    problem->worker_module = self->module;
    problem->worker_domain = self->domain;
    problem->worker_kind = self->kind;
    problem->worker_rate = self->rate;
    problem->cache_instance = self->cache;
    return SSK_OK;
}

void ssk_seats_free(ssk_seats_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->core);
    ssk_delete(allocator, self->module);
    ssk_delete(allocator, self->domain);
    ssk_delete(allocator, self->kind);
    ssk_delete(allocator, self->rate);
    ssk_delete(allocator, self->cache);
    memset(self, 0, sizeof(*self));
}

static void swap(int32_t *array, size_t first, size_t second)
{
    int32_t kept = array[first];
    array[first] = array[second];
    array[second] = kept;
}

void ssk_seats_swap(ssk_seats_t *self, const ssk_problem_t *problem, int32_t first, int32_t second)
{
    size_t a = (size_t)first, b = (size_t)second, n_smt = (size_t)problem->n_smt;
    swap(self->core, a, b);
    swap(self->module, a, b);
    swap(self->domain, a, b);
    swap(self->kind, a, b);
    for (size_t level = 0; level < (size_t)problem->n_levels; level++)
        swap(self->cache + level * (size_t)problem->n_workers, a, b);
    for (size_t k = 0; k < n_smt; k++) {
        double kept = self->rate[a * n_smt + k];
        self->rate[a * n_smt + k] = self->rate[b * n_smt + k];
        self->rate[b * n_smt + k] = kept;
    }
}

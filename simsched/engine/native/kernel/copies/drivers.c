/*
 * Drivers of devices: their state, and what they take for preparing copies. Invariants: drivers.h.
 */
#include "copies/drivers.h"

/* A block that is larger than this part of a chunk is allocated alone. */
enum { LARGEST_IN_CHUNK = 8 };

/* Lists the visits of a space's rounds: into a device from everywhere, rank by rank, then from it to each that is none. */
static void list_visits(ssk_drivers_t *self, const ssk_problem_t *problem, int32_t space)
{
    int32_t n = problem->n_spaces, n_visits = self->visit_ptr[space];
    for (int32_t rank = 0; rank < SSK_N_RANKS; rank++)
        for (int32_t source = 0; source < n; source++)
            if (ssk_server_of(problem, source, space) == space)
                self->visits[n_visits++] = (ssk_visit_t){source * n + space, rank};
    for (int32_t target = 0; target < n; target++)
        for (int32_t rank = 0; target != space && rank < SSK_N_RANKS; rank++)
            if (ssk_server_of(problem, space, target) == space)
                self->visits[n_visits++] = (ssk_visit_t){space * n + target, rank};
    self->visit_ptr[space + 1] = n_visits;
}

int ssk_drivers_alloc(ssk_drivers_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    if (!problem->copies_data)
        return SSK_OK;
    size_t n = (size_t)problem->n_spaces;
    self->n_spaces = problem->n_spaces;
    self->n_awaited = ssk_new(allocator, n, sizeof(*self->n_awaited));
    self->preparing = ssk_new(allocator, n, sizeof(*self->preparing));
    self->has_place = ssk_new(allocator, (size_t)problem->n_blocks * n, sizeof(*self->has_place));
    self->left_bytes = ssk_new(allocator, n, sizeof(*self->left_bytes));
    self->freed_bytes = ssk_new(allocator, n, sizeof(*self->freed_bytes));
    self->deferred = ssk_new(allocator, n, sizeof(*self->deferred));
    self->rounds = ssk_new(allocator, n, sizeof(*self->rounds));
    self->visits = ssk_new(allocator, n * n * SSK_N_RANKS, sizeof(*self->visits)); /* a lane has one server */
    self->visit_ptr = ssk_new(allocator, n + 1, sizeof(*self->visit_ptr));
    if (!self->visits || !self->visit_ptr || !self->rounds || !self->n_awaited || !self->preparing || !self->has_place || !self->left_bytes ||
        !self->freed_bytes || !self->deferred)
        return SSK_ERR_MEMORY;
    for (size_t space = 0; space < n; space++) {
        self->preparing[space].block = SSK_NONE;
        self->rounds[space] = ssk_new_round();
        list_visits(self, problem, (int32_t)space);
    }
    return SSK_OK;
}

void ssk_drivers_free(ssk_drivers_t *self, const ssk_allocator_t *allocator)
{
    for (int32_t space = 0; self->deferred != NULL && space < self->n_spaces; space++)
        ssk_delete(allocator, self->deferred[space].items);
    ssk_delete(allocator, self->n_awaited);
    ssk_delete(allocator, self->preparing);
    ssk_delete(allocator, self->has_place);
    ssk_delete(allocator, self->left_bytes);
    ssk_delete(allocator, self->freed_bytes);
    ssk_delete(allocator, self->deferred);
    ssk_delete(allocator, self->rounds);
    ssk_delete(allocator, self->visits);
    ssk_delete(allocator, self->visit_ptr);
}

/* Allocates after all allocations that have begun; returns how long that takes. */
static int64_t allocate(ssk_drivers_t *self, const ssk_problem_t *problem, int64_t now)
{
    self->allocates_until = ssk_add_ps(ssk_max(self->allocates_until, now), problem->costs.device_allocation_ps);
    return self->allocates_until - now;
}

/* Finds a place for a block unless it has one; returns what that takes. */
static int64_t find_place(ssk_drivers_t *self, const ssk_problem_t *problem, int32_t block, int32_t space, int64_t now)
{
    int64_t chunk = problem->costs.device_chunk_bytes, size = problem->block_bytes[block], cost = 0;
    uint8_t *has_place = &self->has_place[(int64_t)block * self->n_spaces + space];
    if (chunk == 0 || *has_place)
        return 0;
    *has_place = 1;
    if (self->freed_bytes[space] >= size) {
        self->freed_bytes[space] -= size;
        return 0;
    }
    if (size > chunk / LARGEST_IN_CHUNK)
        return allocate(self, problem, now);
    if (self->left_bytes[space] < size) {
        self->left_bytes[space] = chunk;
        cost = allocate(self, problem, now);
    }
    self->left_bytes[space] -= size;
    return cost;
}

int64_t ssk_preparation_ps(ssk_drivers_t *self, const ssk_problem_t *problem, ssk_copy_t copy, int64_t now)
{
    int32_t driver = ssk_driver_of(problem, copy.source, copy.target);
    if (driver == SSK_NONE)
        return 0;
    int64_t cost = copy.source != copy.target ? problem->costs.copy_hand_over_ps : 0;
    return driver == copy.target ? cost + find_place(self, problem, copy.block, copy.target, now) : cost;
}

void ssk_free_place(ssk_drivers_t *self, const ssk_problem_t *problem, int32_t block, int32_t space)
{
    uint8_t *has_place = &self->has_place[(int64_t)block * self->n_spaces + space];
    if (*has_place)
        self->freed_bytes[space] += problem->block_bytes[block];
    *has_place = 0;
}

int ssk_defer(ssk_drivers_t *self, const ssk_allocator_t *allocator, int32_t space, ssk_deferral_t deferral)
{
    ssk_deferrals_t *deferred = &self->deferred[space];
    int status = ssk_grow(allocator, &deferred->items, &deferred->capacity, deferred->n + 1, sizeof(*deferred->items));
    if (status == SSK_OK)
        deferred->items[deferred->n++] = deferral;
    return status;
}

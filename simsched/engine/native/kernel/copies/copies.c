/*
 * Where blocks are valid: memory of the state that gather.c and copying.c work on. Invariants: copies.h.
 */
#include "copies/copies.h"

int ssk_copies_alloc(ssk_copies_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    self->free_waiter = SSK_NONE;
    if (!problem->copies_data)
        return SSK_OK;
    size_t n_spaces = (size_t)problem->n_spaces, n_blocks = (size_t)problem->n_blocks, n_places = n_blocks * n_spaces;
    self->n_spaces = problem->n_spaces;
    self->n_blocks = problem->n_blocks;
    self->valid = ssk_new(allocator, n_blocks, sizeof(*self->valid));
    self->capacity = ssk_new(allocator, n_spaces, sizeof(*self->capacity));
    self->used = ssk_new(allocator, (size_t)problem->n_workers, sizeof(*self->used));
    self->node_at = ssk_new(allocator, n_places, sizeof(*self->node_at));
    self->claims = ssk_new(allocator, n_places, sizeof(*self->claims));
    self->readers = ssk_new(allocator, n_places, sizeof(*self->readers));
    self->n_coming = ssk_new(allocator, n_places, sizeof(*self->n_coming));
    self->last_use = ssk_new(allocator, n_places, sizeof(*self->last_use));
    self->waiter_of = ssk_new(allocator, n_places, sizeof(*self->waiter_of));
    self->is_wanted = ssk_new(allocator, n_places, sizeof(*self->is_wanted));
    self->wanted_from = ssk_new(allocator, n_places, sizeof(*self->wanted_from));
    self->wanted = ssk_new(allocator, n_spaces * n_spaces, sizeof(*self->wanted));
    self->n_served = ssk_new(allocator, n_spaces, sizeof(*self->n_served));
    self->lane = ssk_new(allocator, n_spaces * n_spaces, sizeof(*self->lane));
    self->n_handed = ssk_new(allocator, n_spaces * n_spaces, sizeof(*self->n_handed));
    self->has_lane = ssk_new(allocator, n_spaces * n_spaces, sizeof(*self->has_lane));
    self->has_target = ssk_new(allocator, n_spaces, sizeof(*self->has_target));
    self->has_end = ssk_new(allocator, n_spaces, sizeof(*self->has_end));
    self->saving = ssk_new(allocator, n_spaces, sizeof(*self->saving));
    self->ended = ssk_new(allocator, n_spaces, sizeof(*self->ended));
    self->is_fresh = ssk_new(allocator, n_places, sizeof(*self->is_fresh));
    self->fresh_next = ssk_new(allocator, n_places, sizeof(*self->fresh_next));
    self->fresh_head = ssk_new(allocator, n_spaces, sizeof(*self->fresh_head));
    self->missing = ssk_new(allocator, (size_t)problem->n_workers, sizeof(*self->missing));
    self->turn_next = ssk_new(allocator, (size_t)problem->n_workers, sizeof(*self->turn_next));
    self->turn_head = ssk_new(allocator, n_spaces, sizeof(*self->turn_head));
    self->turn_tail = ssk_new(allocator, n_spaces, sizeof(*self->turn_tail));
    self->claimed_bytes = ssk_new(allocator, n_spaces, sizeof(*self->claimed_bytes));
    self->n_workers = problem->n_workers;
    if (!self->capacity || !self->used || !self->node_at || !self->valid || !self->claims || !self->readers || !self->n_coming || !self->last_use || !self->waiter_of ||
        !self->is_wanted || !self->wanted_from || !self->wanted || !self->n_served || !self->lane || !self->n_handed || !self->has_lane || !self->has_target || !self->has_end || !self->saving || !self->missing ||
        !self->ended || !self->is_fresh || !self->fresh_next || !self->fresh_head ||
        !self->turn_next || !self->turn_head || !self->turn_tail || !self->claimed_bytes)
        return SSK_ERR_MEMORY;
    for (size_t place = 0; place < n_places; place++)
        self->waiter_of[place] = self->node_at[place] = SSK_NONE;
    for (int32_t block = 0; block < problem->n_blocks; block++) {
        int32_t home = problem->home[block];
        if (home < 0)
            continue;
        self->valid[block] = UINT64_C(1) << problem->node_space[home];
        self->node_at[ssk_place(self, block, problem->node_space[home])] = home;
    }
    for (int32_t node = 0; node < problem->n_nodes; node++) {
        int64_t *capacity = &self->capacity[problem->node_space[node]];
        *capacity = ssk_min(*capacity, INT64_MAX - problem->node_capacity_bytes[node]) + problem->node_capacity_bytes[node];
    }
    for (size_t lane = 0; lane < n_spaces * n_spaces; lane++)
        self->lane[lane].block = SSK_NONE;
    for (size_t space = 0; space < n_spaces; space++)
        self->saving[space] = self->turn_head[space] = self->turn_tail[space] = self->fresh_head[space] = SSK_NONE;
    return SSK_OK;
}

void ssk_copies_free(ssk_copies_t *self, const ssk_allocator_t *allocator)
{
    for (int32_t lane = 0; self->wanted != NULL && lane < self->n_spaces * self->n_spaces; lane++)
        ssk_delete(allocator, self->wanted[lane].wants);
    for (int32_t space = 0; self->ended != NULL && space < self->n_spaces; space++)
        ssk_delete(allocator, self->ended[space].copies);
    for (int32_t worker = 0; self->used != NULL && worker < self->n_workers; worker++)
        ssk_delete(allocator, self->used[worker].uses);
    void *const blocks[] = {
        self->capacity, self->used, self->node_at, self->valid, self->claims, self->readers, self->n_coming, self->last_use, self->waiter_of, self->is_wanted,
        self->wanted, self->wanted_from, self->n_served, self->lane, self->n_handed, self->handed, self->has_lane, self->has_target, self->has_end,
        self->saving, self->missing, self->waiters, self->ended, self->is_fresh, self->fresh_next, self->fresh_head,
        self->turn_next, self->turn_head, self->turn_tail, self->claimed_bytes,
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        ssk_delete(allocator, blocks[i]);
}

/* Checks what is wanted of a lane, and counts it. */
static bool lane_is_sound(const ssk_copies_t *self, const ssk_copy_t *preparing, int32_t lane, size_t *n_wanted)
{
    const ssk_wants_t *wanted = &self->wanted[lane];
    int32_t n_handed = self->lane[lane].block != SSK_NONE;
    for (size_t i = 0; i < wanted->n; i++) {
        int64_t place = wanted->wants[i].place;
        if (!self->is_wanted[place] || self->wanted_from[place] != lane / self->n_spaces)
            return false;
        if (i > 0 && ssk_want_precedes(&wanted->wants[i], &wanted->wants[i - 1]))
            return false;
    }
    for (size_t i = 0; i < self->n_waiting; i++)
        n_handed += self->handed[i].source * self->n_spaces + self->handed[i].target == lane;
    for (int32_t space = 0; space < self->n_spaces; space++)
        for (size_t i = 0; i < self->ended[space].n; i++)
            n_handed += self->ended[space].copies[i].source * self->n_spaces + self->ended[space].copies[i].target == lane;
    for (int32_t space = 0; space < self->n_spaces; space++)
        n_handed += preparing[space].block != SSK_NONE && preparing[space].source != preparing[space].target &&
                    preparing[space].source * self->n_spaces + preparing[space].target == lane;
    *n_wanted += wanted->n;
    return n_handed == self->n_handed[lane];
}

int ssk_copies_verify(const ssk_copies_t *self, const ssk_problem_t *problem, const ssk_copy_t *preparing,
                      const int32_t *home)
{
    size_t n_flags = 0, n_wanted = 0, n_places = (size_t)self->n_blocks * (size_t)self->n_spaces;
    for (int32_t block = 0; block < self->n_blocks; block++) {
        int32_t space = home[block] >= 0 ? problem->node_space[home[block]] : 0;
        bool is_home = home[block] >= 0 && ssk_is_valid(self, block, space);
        if (is_home != (self->valid[block] != 0) || (is_home && self->node_at[ssk_place(self, block, space)] != home[block]))
            return SSK_ERR_INVARIANT;
    }
    for (size_t place = 0; place < n_places; place++) {
        n_flags += self->is_wanted[place] != 0;
        if (self->claims[place] < 0 || self->readers[place] < 0 || self->n_coming[place] < 0)
            return SSK_ERR_INVARIANT;
    }
    for (int32_t lane = 0; lane < self->n_spaces * self->n_spaces; lane++)
        if (!lane_is_sound(self, preparing, lane, &n_wanted))
            return SSK_ERR_INVARIANT;
    for (int32_t space = 0; space < self->n_spaces; space++) {
        size_t n_served = 0;
        for (int32_t lane = 0; lane < self->n_spaces * self->n_spaces; lane++)
            if (ssk_server_of(problem, lane / self->n_spaces, lane % self->n_spaces) == space)
                n_served += self->wanted[lane].n;
        if (n_served != self->n_served[space])
            return SSK_ERR_INVARIANT;
    }
    return n_flags == n_wanted && n_wanted == self->n_wanted ? SSK_OK : SSK_ERR_INVARIANT;
}

#include "run/timers.h"

int ssk_timers_alloc(ssk_timers_t *self, const ssk_allocator_t *allocator, int32_t n_workers)
{
    self->size = 1;
    self->n_set = 0;
    self->firing = self->front = SSK_NONE;
    self->front_time = SSK_NO_TIMER;
    self->worker = NULL;
    while (self->size < n_workers)
        self->size *= 2;
    size_t n_nodes = 2 * (size_t)self->size;
    self->time = ssk_new(allocator, n_nodes, sizeof(*self->time));
    if (self->time == NULL)
        return SSK_ERR_MEMORY;
    self->worker = ssk_new(allocator, n_nodes, sizeof(*self->worker));
    if (self->worker == NULL)
        return SSK_ERR_MEMORY;
    for (size_t i = n_nodes - 1; i >= 1; i--) {
        self->time[i] = SSK_NO_TIMER;
        self->worker[i] = i >= (size_t)self->size ? (int32_t)i - self->size : self->worker[2 * i];
    }
    return SSK_OK;
}

void ssk_timers_free(ssk_timers_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->time);
    ssk_delete(allocator, self->worker);
    self->time = NULL;
    self->worker = NULL;
}

/* Sets the time of a leaf. */
static void set_leaf(ssk_timers_t *self, int32_t worker, int64_t time)
{
    int64_t *times = self->time;
    int32_t *workers = self->worker;
    uint32_t i = (uint32_t)self->size + (uint32_t)worker;
    times[i] = time;
    while (i > 1) {
        uint32_t sibling = i ^ 1;
        int64_t is_right = i & 1;
        int64_t other = times[sibling];
        int32_t from = workers[sibling];
        /* All bits set if the sibling wins (other <= time for the right child). Compilers jump on a condition here. */
        int32_t wins = -(int32_t)((uint64_t)(other - is_right - time) >> 63);
        worker ^= (worker ^ from) & wins;
        time = ssk_min(time, other);
        i >>= 1;
        times[i] = time;
        workers[i] = worker;
    }
}

void ssk_timers_set(ssk_timers_t *self, int32_t worker, int64_t time)
{
    bool was_in_tree = self->time[self->size + worker] != SSK_NO_TIMER;
    self->n_set += (time != SSK_NO_TIMER) - (was_in_tree || worker == self->front);
    if (worker == self->firing)
        self->firing = SSK_NONE;
    if (worker == self->front) {
        self->front = SSK_NONE;
        self->front_time = SSK_NO_TIMER;
    }
    if (was_in_tree || time == SSK_NO_TIMER || !ssk_timers_is_before(time, worker, self->time[1], self->worker[1]) ||
        ssk_timers_is_before(self->front_time, self->front, time, worker)) {
        if (was_in_tree || time != SSK_NO_TIMER)
            set_leaf(self, worker, time);
        return;
    }
    if (self->front >= 0)
        set_leaf(self, self->front, self->front_time);
    self->front = worker;
    self->front_time = time;
}

int ssk_timers_verify(const ssk_timers_t *self)
{
    int32_t n_set = 0;
    for (int32_t i = 1; i < self->size; i++) {
        int32_t winner = self->time[2 * i + 1] < self->time[2 * i] ? 2 * i + 1 : 2 * i;
        if (self->time[i] != self->time[winner] || self->worker[i] != self->worker[winner])
            return SSK_ERR_INVARIANT;
    }
    if (self->front >= 0 ? self->time[self->size + self->front] != SSK_NO_TIMER : self->front_time != SSK_NO_TIMER)
        return SSK_ERR_INVARIANT;
    for (int32_t worker = 0; worker < self->size; worker++) {
        n_set += ssk_timers_has(self, worker);
        if (self->worker[self->size + worker] != worker)
            return SSK_ERR_INVARIANT;
    }
    return n_set == self->n_set && self->firing < 0 ? SSK_OK : SSK_ERR_INVARIANT;
}

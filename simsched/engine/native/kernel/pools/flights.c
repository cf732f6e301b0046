#include "pools/flights.h"

#include "heap.h"

void ssk_flights_init(ssk_flights_t *self)
{
    memset(self, 0, sizeof(*self));
}

void ssk_flights_free(ssk_flights_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->heap);
    ssk_delete(allocator, self->next);
    ssk_flights_init(self);
}

void ssk_flights_clear(ssk_flights_t *self)
{
    self->n = self->n_loaded = 0;
    self->n_departed = 0;
}

int ssk_flights_reserve(ssk_flights_t *self, const ssk_allocator_t *allocator, int32_t n_tasks)
{
    int status = ssk_grow(allocator, &self->heap, &self->capacity, self->n + 1, sizeof(*self->heap));
    if (status == SSK_OK)
        status = ssk_grow(allocator, &self->next, &self->next_capacity, (size_t)n_tasks, sizeof(*self->next));
    return status;
}

void ssk_flights_load(ssk_flights_t *self, ssk_flight_t *flight, int32_t task)
{
    if (flight->n_entries++ == 0)
        flight->first = task;
    else
        self->next[flight->last] = task;
    flight->last = task;
}

static bool is_before(const ssk_flight_t *a, const ssk_flight_t *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

void ssk_flights_depart(ssk_flights_t *self, ssk_flight_t flight)
{
    flight.number = self->n_departed++;
    self->n_loaded += flight.n_entries > 0;
    SSK_HEAP_ADD(self->heap, self->n, flight, is_before);
}

ssk_flight_t ssk_flights_land(ssk_flights_t *self)
{
    assert(self->n > 0);
    ssk_flight_t landed = self->heap[0];
    self->n_loaded -= landed.n_entries > 0;
    SSK_HEAP_DROP(self->heap, self->n, is_before);
    return landed;
}

int ssk_flights_verify(const ssk_flights_t *self)
{
    size_t n_loaded = 0;
    for (size_t i = 0; i < self->n; i++) {
        const ssk_flight_t *flight = &self->heap[i];
        if (i > 0 && !is_before(&self->heap[(i - 1) / 2], flight))
            return SSK_ERR_INVARIANT;
        int32_t task = flight->first;
        for (int32_t k = 1; k < flight->n_entries; k++)
            task = self->next[task];
        if (flight->n_entries > 0 && task != flight->last)
            return SSK_ERR_INVARIANT;
        n_loaded += flight->n_entries > 0;
    }
    return n_loaded == self->n_loaded ? SSK_OK : SSK_ERR_INVARIANT;
}

/*
 * Flights: entries on their way from one pool to another.
 *
 * A binary heap by (time, number), the number counting departures. The entries of a flight are chained through an array
 * with one place per task, because a task is on one flight at most; it is made with the first flight of a run.
 *
 * Invariants: no flight is before its parent in the heap; n_loaded is the number of flights with entries; the chain of a
 * flight has n_entries links, from first to last.
 */
#ifndef SSK_FLIGHTS_H
#define SSK_FLIGHTS_H

#include "base.h"

typedef struct {
    int64_t time, number;
    int32_t group, instance; /* where it goes to */
    int32_t asker;           /* worker that waits for it, SSK_NONE */
    int32_t first, last, n_entries;
} ssk_flight_t;

typedef struct {
    ssk_flight_t *heap;
    int32_t *next; /* per task: the entry after it */
    size_t capacity, next_capacity;
    size_t n, n_loaded;
    int64_t n_departed;
} ssk_flights_t;

void ssk_flights_init(ssk_flights_t *self);
void ssk_flights_free(ssk_flights_t *self, const ssk_allocator_t *allocator);
int ssk_flights_verify(const ssk_flights_t *self) SSK_CHECK_RESULT;

/* Forgets all flights. */
void ssk_flights_clear(ssk_flights_t *self);

/* Makes room for one more flight of tasks below n_tasks. */
int ssk_flights_reserve(ssk_flights_t *self, const ssk_allocator_t *allocator, int32_t n_tasks) SSK_CHECK_RESULT;

/* Adds an entry to a flight that has not departed. */
void ssk_flights_load(ssk_flights_t *self, ssk_flight_t *flight, int32_t task);

/* Numbers a flight, for which there is room, and adds it. */
void ssk_flights_depart(ssk_flights_t *self, ssk_flight_t flight);

/* Removes and returns the first flight; there is one. Its chain stays until the next departure. */
ssk_flight_t ssk_flights_land(ssk_flights_t *self);

#endif

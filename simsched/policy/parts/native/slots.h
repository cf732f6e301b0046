/* Time that is free on each worker of a schedule. */
#ifndef SSL_SLOTS_H
#define SSL_SLOTS_H

#include <stdint.h>

typedef struct {
    double begin;
    double end;
} ssl_gap_t;

typedef struct {
    ssl_gap_t *gap; /* ascending, disjoint, not empty */
    int32_t n_gaps;
    int32_t room;
    double end; /* of the last task */
} ssl_slots_t;

int ssl_slots_alloc(ssl_slots_t **slots, int32_t n_workers) __attribute__((warn_unused_result));
void ssl_slots_free(ssl_slots_t *slots, int32_t n_workers);

/* Earliest start of a task that takes `length` and is ready at `ready`. */
double ssl_slots_earliest(const ssl_slots_t *slots, double ready, double length, int insertion);

/* Take [start, start + length), which ssl_slots_earliest has named. */
int ssl_slots_take(ssl_slots_t *slots, double start, double length)
    __attribute__((warn_unused_result));

/* Make `to` a copy of `from`, reusing its memory. */
int ssl_slots_copy(ssl_slots_t *to, const ssl_slots_t *from) __attribute__((warn_unused_result));

#endif

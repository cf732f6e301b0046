/*
 * Memory flows: flow classes in virtual time, and the next flow to end.
 *
 * All flows of a class have one rate, so a class keeps the virtual time V = bytes that each of its flows has received
 * (since the class was last empty) and a binary heap of finish keys; see docs/semantics.md, rules F. Starting or
 * ending a flow costs O(log n) and leaves every other flow alone; a new rate costs O(1) per class.
 *
 * The head of every class is an event in `calendar`. A class whose head has changed is `touched`: its event is out of
 * date until the next event is asked for, by when mostly another flow has taken the place of the one that ended.
 *
 * Invariants: a worker has at most one flow; classes[class_of[w]].heap[place_of[w]].worker == w; heaps are ordered by
 * (key, start); occupied holds the classes with n > 0; n_changed counts classes with n != counted, counted being n at
 * the last computation of rates, and all of these are in `changed`; of the classes that are not touched, those with
 * flows have their head in the calendar.
 */
#ifndef SSK_FLOWS_H
#define SSK_FLOWS_H

#include "base.h"
#include "flows/calendar.h"

typedef struct {
    double key; /* value of V at which the flow ends */
    int32_t worker;
    uint32_t number; /* of its start, counted from 0 and over again; of equal keys the earlier start comes first */
} ssk_flow_t;

typedef struct {
    double rate;   /* bytes per ps of each flow */
    double virt;   /* V at time `since - since_lag` */
    double since_lag;
    int64_t since;
    ssk_flow_t *heap;
    int32_t n, counted;
    size_t capacity;
    bool touched, listed; /* in `touched`, in `changed` */
} ssk_class_t;

typedef struct {
    int32_t class_index;
    double weight; /* number of flows times load per byte */
} ssk_crossing_t;

/* A class with regard to lone resources. */
typedef struct {
    double weight, cap; /* load per byte on the resource; bytes per ps */
    int32_t resource;   /* the only one that the class crosses, -1 if there are several */
} ssk_lone_t;

/* A lone class with flows while rates are computed. */
typedef struct {
    double load, cap; /* number of flows times weight; bytes per ps */
    int32_t class_index;
    bool is_rising;
} ssk_present_t;

/* Bandwidth sharing; see sharing.c for the rates, coupling.c for what has to be computed anew, lone.c for the common case. */
typedef struct {
    /* water-filling */
    double *rate;              /* per class: the result */
    uint8_t *stopped;          /* per class */
    int32_t *rising;           /* classes that have not stopped */
    ssk_crossing_t *crossing;  /* per resource, from crossing_ptr on: classes that cross it, ascending */
    int32_t *crossing_ptr;     /* n_resources + 1 */
    int32_t *n_crossing;       /* per resource */
    int32_t *used, n_used;     /* resources of this computation */
    double *raw_level;         /* per resource, before the previous level is applied; infinity without load */
    uint8_t *stale;            /* per resource: raw_level is to be computed again */
    /* coupling */
    uint64_t *crosses;         /* per resource: set of classes that cross it */
    uint64_t *component;       /* set of classes whose rates depend on each other and on a change */
    int32_t *renewed, n_renewed; /* classes whose rates have been computed anew */
    int32_t *flows_on;         /* per resource: flows that cross it */
    uint8_t *varies;           /* per resource: its capacity depends on the flows that cross it */
    bool has_loaded_latency;   /* the latency of some path depends on its load */
    uint8_t *slack;            /* per resource: too far from full to stop any class */
    double *load, *next_load;  /* per slack resource: bytes per ps, now and after the change */
    uint8_t *seen;             /* per resource */
    int32_t *queue;            /* resources */
    int32_t n_since_refresh;
    /* lone resources; see lone.c */
    ssk_lone_t *lone;       /* per class */
    ssk_present_t *present;
    int32_t *linked;        /* per resource */
} ssk_sharing_t;

typedef struct {
    const ssk_problem_t *problem;
    ssk_class_t *classes;
    int32_t n_classes, n_words;
    int32_t *class_of, *place_of; /* per worker; class -1 without a flow */
    ssk_calendar_t calendar;
    int32_t *touched, n_touched;
    int32_t *changed, n_listed; /* classes that may have gained or lost flows */
    int32_t n_changed, n_flows;
    uint32_t n_started; /* flows, modulo 2**32: no flow lasts while 2**31 others start */
    uint64_t *occupied;
    ssk_sharing_t sharing;
} ssk_flows_t;

int ssk_flows_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_flows_free(ssk_flows_t *self, const ssk_allocator_t *allocator);
int ssk_flows_verify(const ssk_flows_t *self) SSK_CHECK_RESULT;

/* Makes room for `capacity` flows in a class. Paths of accesses have room for all workers of their domains. */
int ssk_flows_reserve(ssk_flows_t *self, const ssk_allocator_t *allocator, int32_t flow_class,
                      int32_t capacity) SSK_CHECK_RESULT;

/* Starts a flow of n_bytes at time `now - lag` for a worker that has none. */
void ssk_flows_start(ssk_flows_t *self, int32_t worker, int32_t flow_class, double n_bytes, int64_t now, double lag);

/* Removes a worker's flow that has ended at time `now - lag`. */
void ssk_flows_end(ssk_flows_t *self, int32_t worker, int64_t now, double lag);

/* Returns the remaining bytes of a worker's flow at time `now - lag`, not below 0. */
double ssk_flows_left(const ssk_flows_t *self, int32_t worker, int64_t now, double lag);

/* The same, and removes the flow. */
double ssk_flows_stop(ssk_flows_t *self, int32_t worker, int64_t now, double lag);

/*
 * Returns the time of the next end of a flow, SSK_NEVER when there is none; *worker_ret is its worker. `other` is the
 * time of the next event of another kind: if neither is at `now` and classes have gained or lost flows, rates are
 * computed anew first and hold from `now - lag` on.
 */
int64_t ssk_flows_next(ssk_flows_t *self, int64_t now, double lag, int64_t other, int32_t *worker_ret);

/* The lag of the end of a flow that ssk_flows_next() has just returned. */
static inline double ssk_flows_lag(const ssk_flows_t *self)
{
    return self->calendar.heap[0].lag;
}

/* Index of the lowest set bit; word must not be 0. */
static inline int32_t ssk_lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int32_t bit = 0;
    while (!(word >> bit & 1))
        bit++;
    return bit;
#endif
}

#endif

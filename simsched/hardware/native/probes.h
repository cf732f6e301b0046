/*
 * What this host does apart from any run, measured by a team of threads each: steps of scheduling, bandwidth, latency,
 * and data that another core has in its cache. Every measurement returns a status; round_ns gets the duration of each
 * round. How each is made stands in its file.
 */
#ifndef HW_PROBES_H
#define HW_PROBES_H

#include "base.h"

/* Mean times in nanoseconds. */
typedef struct {
    double push, take;           /* own deque: adding a task, taking the newest */
    double steal, probe;         /* another's deque: taking the oldest, finding nothing */
    double lock_push, lock_take; /* central queue, nobody else there */
    double stamp;                /* one time stamp of the trace */
} hw_primitives_t;

/* Measures with the owner on one core and the thief on another (or the same); keeps the best of n_rounds of each. */
int hw_primitives_measure(int32_t owner_cpu, int32_t thief_cpu, int32_t n_rounds, hw_primitives_t *result);

typedef enum {
    HW_STREAM_READ,    /* sum of one array */
    HW_STREAM_WRITE,   /* one array filled */
    HW_STREAM_COPY,    /* one array to another */
    HW_STREAM_TRIAD,   /* a = b + s * c */
    HW_STREAM_COMPUTE, /* one array: a polynomial of each element, which takes longer than fetching it from a cache */
    HW_N_STREAMS
} hw_stream_kind_t;

/* What is measured; arrays are on `node`, or, for HW_NONE, where the thread that uses them touches them first. */
typedef struct {
    const int32_t *cpu;
    int32_t n_threads;
    hw_stream_kind_t kind;
    int node;
    int64_t n_items;  /* 8 bytes each, per array and thread */
    int32_t n_parts;  /* of the arrays, one per round in turn; at most n_items */
    int32_t n_sweeps; /* of a part in its round */
    int32_t n_rounds;
} hw_stream_t;

/* Parts differ by at most one item. */
int hw_stream_measure(const hw_stream_t *stream, int64_t *round_ns);

/*
 * One sweep over items `begin` to `end` - 1 of arrays of n items that follow each other at `items`; returns something that
 * depends on what was read. The arrays hold integers for READ, WRITE and COPY, doubles for the others.
 */
uint64_t hw_stream_sweep(hw_stream_kind_t kind, void *items, int64_t n, int64_t begin, int64_t end, uint64_t key);

/* Pages for n items per array, each of which a sweep reads or writes once (COMPUTE: both), as hw_pages_on(), touched. */
int hw_stream_pages(hw_stream_kind_t kind, int64_t n, int node, void **pages);
size_t hw_stream_bytes(hw_stream_kind_t kind, int64_t n);

enum { HW_CHASE_LINE = 64 }; /* bytes between the ends of pointers */

typedef struct hw_chase_line {
    struct hw_chase_line *next;
    char rest[HW_CHASE_LINE - sizeof(void *)];
} hw_chase_line_t;

/* What is measured: the first thread follows pointers, the others triad over arrays of their own, all on `node`. */
typedef struct {
    const int32_t *cpu;
    int32_t n_threads;
    int node; /* HW_NONE: where they are first touched */
    int32_t n_lines;
    int64_t n_warm, n_steps; /* before the first round, in each round */
    int32_t n_rounds;
    int64_t evict_bytes; /* written before the first round */
    int64_t load_items; /* per array of the others */
} hw_chase_t;

/* Links the lines to one random cycle. */
void hw_chase_link(hw_chase_line_t *lines, int32_t n);

int hw_chase_measure(const hw_chase_t *chase, int64_t *round_ns);

typedef enum {
    HW_TRANSFER_READ,       /* read what the other one has just updated */
    HW_TRANSFER_OVERWRITE,  /* overwrite what the other one has just updated */
    HW_TRANSFER_UPGRADE,    /* update the own array when the other one has just read it */
    HW_TRANSFER_OWN_READ,   /* read the own array: the same loop without the other core */
    HW_TRANSFER_OWN_OVERWRITE,
    HW_TRANSFER_OWN_UPDATE, /* update the own array that nobody else has touched */
} hw_transfer_kind_t;

/* Measures arrays of n_items doubles behind fillers of n_filler doubles; rounds are those of the first thread. */
int hw_transfer_measure(hw_transfer_kind_t kind, int32_t cpu, int32_t other, int64_t n_items, int64_t n_filler,
                        int32_t n_rounds, int64_t *round_ns);

#endif

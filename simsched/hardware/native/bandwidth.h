/*
 * Bandwidth of threads that each sweep arrays of their own, in caches or in memory.
 *
 * Bytes are counted as STREAM does: what the loop reads and what it writes, not the lines that a store loads before it
 * overwrites them. The loops are plain C that the compiler vectorises, without the instructions that bypass caches, so they
 * show what programs reach that are compiled as this library is. A round is a part of the arrays, the next round the next
 * part: arrays larger than the caches then need no long rounds, in some of which other programs would take a core away.
 *
 * Invariant: every thread touches only its arrays; times are those from the first thread's begin to the last one's end.
 */
#ifndef HW_BANDWIDTH_H
#define HW_BANDWIDTH_H

#include "base.h"

typedef enum {
    HW_STREAM_READ,  /* sum of one array */
    HW_STREAM_WRITE, /* one array filled */
    HW_STREAM_COPY,  /* one array to another */
    HW_STREAM_TRIAD, /* a = b + s * c */
    HW_STREAM_COMPUTE, /* one array: a polynomial of each element, which takes longer than fetching it from a cache */
    HW_N_STREAMS
} hw_stream_kind_t;

/* What is measured; arrays are on `node`, or, for HW_NONE, where the thread that uses them touches them first. */
typedef struct {
    const int32_t *cpu;
    int32_t n_threads;
    hw_stream_kind_t kind;
    int node;
    int64_t n_items; /* 8 bytes each, per array and thread */
    int32_t n_parts;  /* of the arrays, one per round in turn; at most n_items */
    int32_t n_sweeps; /* of a part in its round */
    int32_t n_rounds;
} hw_stream_t;

/* Measures; round_ns gets the duration of each round. Parts differ by at most one item. */
int hw_stream_measure(const hw_stream_t *stream, int64_t *round_ns);

/*
 * One sweep over items `begin` to `end` - 1 of arrays of n items that follow each other at `items`; returns something that depends on what was read. The
 * arrays hold integers for READ, WRITE and COPY, doubles for the others.
 */
uint64_t hw_stream_sweep(hw_stream_kind_t kind, void *items, int64_t n, int64_t begin, int64_t end, uint64_t key);

/* Pages for n items per array, each of which a sweep reads or writes once (COMPUTE: both), as hw_pages_on(), touched. */
int hw_stream_pages(hw_stream_kind_t kind, int64_t n, int node, void **pages);
size_t hw_stream_bytes(hw_stream_kind_t kind, int64_t n);

#endif

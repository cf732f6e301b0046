/*
 * Latency of loads that each wait for the one before, in caches or in memory, with other cores at rest or streaming.
 *
 * The loads follow pointers through the lines of a buffer in an order that no prefetcher guesses: one cycle through all
 * lines, drawn at random (Sattolo's algorithm). A round goes on where the one before has stopped, so that in a buffer with
 * more lines than steps are made no line comes twice; for memory, other pages are written before the first round, so many
 * that they displace the lines from all caches.
 *
 * Invariant: from any line, as many steps as there are lines lead back to it and through all others.
 */
#ifndef HW_LATENCY_H
#define HW_LATENCY_H

#include "base.h"

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

/* Measures; round_ns gets the duration of each round. */
int hw_chase_measure(const hw_chase_t *chase, int64_t *round_ns);

#endif

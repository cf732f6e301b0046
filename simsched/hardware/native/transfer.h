/*
 * What a core pays for data that another core has just written and still holds in its cache.
 *
 * Two threads update two arrays in place, each one array, and swap them after every round. All lines then come from the
 * other's cache, as far as that is large enough, while the other one fetches as many from here.
 *
 * Invariant: an array is touched by one thread at a time; they swap at meetings.
 */
#ifndef HW_TRANSFER_H
#define HW_TRANSFER_H

#include "base.h"

/* Measures arrays of n_items doubles; round_ns gets the duration of each round of the first thread. */
int hw_transfer_measure(int32_t cpu, int32_t other, int64_t n_items, int32_t n_rounds, int64_t *round_ns);

#endif

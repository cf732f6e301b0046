/*
 * What a core pays for data that another core has just written and still holds in its cache.
 *
 * Two threads take turns at updating one array in place; the turns of the first one are timed. Both lie in caches of
 * their own as far as these are large enough, so that every line comes from the other's.
 *
 * Invariant: the array is touched by one thread at a time; they change places at meetings.
 */
#ifndef HW_TRANSFER_H
#define HW_TRANSFER_H

#include "base.h"

/* Measures an array of n_items doubles; round_ns gets the duration of each timed turn. */
int hw_transfer_measure(int32_t cpu, int32_t other, int64_t n_items, int32_t n_rounds, int64_t *round_ns);

#endif

/*
 * What caches write back to memory: docs/semantics.md, "Segments", item 3.
 *
 * A block that is written in a cache is written to memory when it leaves. That is charged when it is written, so that no
 * access moves bytes of other blocks than its own: every entry has a number of dirty bytes, for which this has been
 * done, and which leave with it.
 *
 * Invariants: only entries of the last writer of a block are dirty, since a write drops all that it does not use.
 */
#ifndef SSK_WRITEBACK_H
#define SSK_WRITEBACK_H

#include "slices.h"

/* Makes what a worker has written dirty in its caches; returns the bytes that were not. */
int64_t ssk_writeback_mark(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written);

/* Adds dirty bytes to the entry that a slice has of a block, if it has one, as far as that has bytes. */
void ssk_writeback_add(ssk_caches_t *self, int32_t slice, int32_t block, int64_t n_dirty);

/* Makes dirty in the first level from which the block goes to memory what levels filled by evictions have given up. */
void ssk_writeback_rescue(ssk_caches_t *self, int32_t worker, int32_t block);

#endif

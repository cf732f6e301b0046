/*
 * What caches write back to memory: docs/semantics.md, rules B.
 *
 * What is written in caches is written to memory when it leaves them. That is charged when it becomes dirty, so that no
 * access moves bytes of other blocks than its own; what is written again meanwhile costs nothing.
 *
 * Invariants, between accesses: a block has no more dirty bytes than the instances that its last writer used hold of it.
 */
#ifndef SSK_WRITEBACK_H
#define SSK_WRITEBACK_H

#include "caches/slices.h"

/* Bytes, up to some, of a block in the instances that its last writer used: levels filled by misses hold what inner ones do. */
int64_t ssk_writeback_held(const ssk_caches_t *self, int32_t block, int64_t most);

/* Makes the instances that a worker uses those in which a block is dirty. */
void ssk_writeback_hand_over(ssk_caches_t *self, int32_t worker, int32_t block);

/* Forgets dirty bytes of a block that have left the instances of its last writer. */
void ssk_writeback_settle(ssk_caches_t *self, int32_t block);

/* Makes what a worker has written, whose block others hold no more, dirty; returns the bytes that were so before. */
int64_t ssk_writeback_mark(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written);

#endif

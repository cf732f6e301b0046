/*
 * Pools of memory for blocks: per memory node and size class a list of memory that has been freed.
 *
 * A pool gives out what was freed last. An entry says which block has had its memory last, as long as that has no other:
 * what caches hold of the block is of this memory.
 *
 * Invariants: every entry is in exactly one list, that of a pool or that of unused entries; spare_of[b] is the entry in a
 * pool that says block b.
 */
#ifndef SSK_BLOCKPOOLS_H
#define SSK_BLOCKPOOLS_H

#include "base.h"

enum { SSK_N_SIZE_CLASSES = 41 };

typedef struct {
    int32_t block; /* that has had it, or SSK_NONE */
    int32_t next;  /* entry, or SSK_NONE */
} ssk_spare_t;

typedef struct {
    int32_t n_nodes, n_blocks;
    int32_t *first;      /* n_nodes x SSK_N_SIZE_CLASSES: entry that is given out next, or SSK_NONE; NULL without pools */
    ssk_spare_t *entries;
    int32_t *spare_of; /* per block: entry, or SSK_NONE */
    int32_t n_entries, unused; /* entries that were ever in use; first of the unused ones, or SSK_NONE */
    size_t capacity;
} ssk_blockpools_t;

int ssk_blockpools_alloc(ssk_blockpools_t *self, const ssk_allocator_t *allocator, int32_t n_nodes,
                         int32_t n_blocks) SSK_CHECK_RESULT;
void ssk_blockpools_free(ssk_blockpools_t *self, const ssk_allocator_t *allocator);

/* Puts the memory of a block into the pool of its node. */
int ssk_blockpools_put(ssk_blockpools_t *self, const ssk_allocator_t *allocator, int32_t node, int32_t size_class,
                       int32_t block) SSK_CHECK_RESULT;

/* Takes memory out of the pool of a node; false when it has none. *block_ret is the block that the entry says. */
bool ssk_blockpools_take(ssk_blockpools_t *self, int32_t node, int32_t size_class, int32_t *block_ret);

/* Lets the entry that says a block, if there is one, say another one, or none (SSK_NONE), that no entry says. */
void ssk_blockpools_name(ssk_blockpools_t *self, int32_t block, int32_t other);

/* Bytes that wait in the pools of a node. O(everything). */
int64_t ssk_blockpools_bytes_on(const ssk_blockpools_t *self, int32_t node);

int ssk_blockpools_verify(const ssk_blockpools_t *self) SSK_CHECK_RESULT;

#endif

/*
 * Processor caches: least recently used blocks per slice of each cache instance.
 *
 * An instance is divided into slices of their own capacities, and every block between them: most levels have one slice.
 * An entry says how many bytes of a block are resident in a slice. All entries live in one array; a hash table
 * (open addressing, linear probing, deletion by shifting back) finds the entry of (slice, block); each slice
 * links its entries from most to least recently used, and each block links its holders, so that a write can drop all
 * other copies without looking at slices that hold none.
 *
 * The list of a slice is a ring through entry number `slice`, which stands for the slice itself, and lists of
 * blocks end in one common entry, `end`: linking and unlinking need no question whether there is a neighbour. What is
 * looked up is mostly either new or where it should be: the table is sparse, so that a search mostly ends at once.
 *
 * Where a level is filled by evictions, the entries that a level drops for room wait in a list until the next level
 * has been looked up, and then fill it.
 *
 * How much of a block its last writer has written in caches, so that it must go to memory, is noted per block
 * (writeback.c).
 *
 * Invariants: resident[i] is the sum of the entries of slice i and at most its capacity; every entry is in the
 * table, in the ring of its slice and in the list of its block, exactly once; the table is at most a quarter full;
 * the writer of a block has an entry of it. Without a transfer level there are no writers (NULL). Between accesses no
 * dropped entries wait; without levels filled by evictions nobody notes what is shared (NULL).
 */
#ifndef SSK_CACHES_H
#define SSK_CACHES_H

#include "base.h"

typedef struct {
    int64_t n_bytes;
    int32_t slice, block;
    int32_t newer, older;         /* in the ring of the slice; of the slice itself: the oldest, the newest */
    int32_t previous, following;  /* in the list of the block; `following` also links free and dropped entries */
} ssk_cached_t;

typedef struct {
    const ssk_problem_t *problem;
    const ssk_allocator_t *allocator;
    int32_t n_slices;
    int32_t end;                /* entry behind the last of every list of a block */
    int32_t *first_slice;       /* per level: number of the first slice of its first instance */
    int32_t *first_instance;    /* per level: number of its first instance among those of all levels */
    int64_t *resident;          /* per slice */
    int32_t *holder;            /* per block: first entry of its list */
    ssk_cached_t *entries;
    size_t n_entries, capacity; /* entries in use, in the free list, or standing for something */
    int32_t free_entry;
    int32_t *table;             /* entry or -1 */
    size_t n_live, table_mask;
    int32_t *writer;            /* per block: instance of the transfer level that holds it written, or SSK_NONE */
    int64_t *dirty;             /* per block: bytes that its last writer has written and its instances hold */
    int32_t *dirty_in;          /* n_blocks x n_levels: the instances that the last writer used */
    uint8_t *shared;            /* per block: whether victim caches keep a copy; NULL without such levels */
    int64_t evicted_bytes;      /* by the last level that was looked up */
    int32_t first_dropped, last_dropped; /* what the last level that was looked up has dropped */
    int32_t first_left;         /* what has been dropped during the present access and is in no such list any more */
    int64_t fresh, passing;     /* of the present footprint: what that level lacked, and had no room for */
    ssk_cache_counts_t *counts; /* n_domains x n_levels, where accesses are counted: not its own, set before the first */
} ssk_caches_t;

int ssk_caches_alloc(ssk_caches_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_caches_free(ssk_caches_t *self);
int ssk_caches_verify(const ssk_caches_t *self) SSK_CHECK_RESULT;

/* ssk_caches_access() without and with levels that are filled by evictions: who has none does not pay for them. */
int ssk_caches_plain_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                            double exposure, int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail,
                            int64_t *wait) SSK_CHECK_RESULT;
int ssk_caches_victim_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written,
                             double exposure, int64_t *missing_of_group, int64_t *missing_ret, int64_t *tail,
                             int64_t *wait) SSK_CHECK_RESULT SSK_NEVER_INLINE;

/*
 * Looks n_bytes of a block up in all levels, of which `written` are to be written, and leaves them there. *missing_ret is
 * what no level holds; the time that hits take beside the computation is added to *tail, that for which the core waits,
 * which for hits is `exposure` times as long as the level says, to *wait. What each level does not hold is added to
 * missing_of_group[level], unless that is NULL.
 */
static inline int ssk_caches_access(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes,
                                    int64_t written, double exposure, int64_t *missing_of_group, int64_t *missing_ret,
                                    int64_t *tail, int64_t *wait)
{
    if (self->shared != NULL)
        return ssk_caches_victim_access(self, worker, block, n_bytes, written, exposure, missing_of_group, missing_ret,
                                        tail, wait);
    return ssk_caches_plain_access(self, worker, block, n_bytes, written, exposure, missing_of_group, missing_ret, tail,
                                   wait);
}

/*
 * Notes that the worker has written so many bytes of the block in an access to n_bytes: drops it from all instances that
 * the worker does not use, and takes over what was dirty there. Returns how many of the bytes written were dirty before.
 */
int64_t ssk_caches_write(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written);

/* Notes that two blocks change their memory: what is held of one is the other's, as far as that has so many bytes. */
void ssk_caches_exchange(ssk_caches_t *self, int32_t a, int32_t b);

/* Notes that a block gets memory that no block has had: drops what is held of it. */
void ssk_caches_forget(ssk_caches_t *self, int32_t block);

/* ---- what the other kinds of levels change: entries and slices */

/* Entry of a block in a slice, or something negative. */
int32_t ssk_caches_find(const ssk_caches_t *self, int32_t slice, int32_t block);

/* Removes an entry from everything and frees it. */
void ssk_caches_drop(ssk_caches_t *self, int32_t entry);

/* Leaves n_bytes of what an entry has. */
void ssk_caches_shrink(ssk_caches_t *self, int32_t entry, int64_t n_bytes);

/* Makes an entry the most recent one of its slice. */
void ssk_caches_make_newest(ssk_caches_t *self, int32_t entry);

/* Makes sure that a slice has `footprint` bytes of a block; what is dropped for them joins the list of what has been dropped.
 * *held_ret is what it had before. */
int ssk_caches_enter(ssk_caches_t *self, int32_t slice, int64_t capacity, int32_t block, int64_t footprint,
                     int64_t *held_ret) SSK_CHECK_RESULT;

/* Drops all entries of a slice but that of a block, of which more passes through it than it has room for. */
void ssk_caches_displace(ssk_caches_t *self, int32_t slice, int32_t block, bool is_passing_on);

/* Bytes of a block in an instance; *is_there_ret: whether it has an entry of it. */
int64_t ssk_caches_held_by(const ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, bool *is_there_ret);

#endif

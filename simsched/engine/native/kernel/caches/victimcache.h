/*
 * Levels of caches that are filled by what the level before drops: docs/semantics.md, rules V.
 *
 * What a look-up drops for room waits in the list from first_dropped to last_dropped, linked by `following`, until the
 * next level has been looked up; it is then put there, or forgotten. Entries in this list, and in that of those which
 * have left it during the access, are in no slice.
 *
 * Invariants: the lists are empty between accesses; fresh and passing mean something only during one.
 */
#ifndef SSK_VICTIMCACHE_H
#define SSK_VICTIMCACHE_H

#include "caches/slices.h"

/* Notes before an access of a worker whether the block is shared; if not, only its instances hold what is dirty. */
void ssk_victimcache_note_sharing(ssk_caches_t *self, int32_t worker, int32_t block);

/* Looks an access up in an instance of any level of such a machine, as look_up in caches.c does in other machines. */
int ssk_victimcache_look_up(ssk_caches_t *self, int32_t level, int32_t instance, int32_t block, int64_t want,
                            int64_t whole, int64_t *missing_ret) SSK_CHECK_RESULT;

/* Passes on what the last level that an access has reached has dropped; `level` is the next one. */
int ssk_victimcache_pass_on(ssk_caches_t *self, int32_t level, int32_t worker, int32_t block) SSK_CHECK_RESULT;

/* Drops stale copies of a block that the worker writes: such levels keep what those inside do not hold. */
void ssk_victimcache_keep_rest(ssk_caches_t *self, int32_t worker, int32_t block);

#endif

/*
 * What a core pays for data that another core has in its cache, too.
 *
 * Two threads read a filler each, update an array each in place and then do, in turn, what the kind says; the last step
 * is timed. All lines of the arrays are in the caches of the two, as far as these are large enough, and what comes has to
 * displace a filler as large as the cache, as it has to displace other data in a program. Both threads do the same at a
 * time, so that as much is fetched from a core as by it.
 *
 * Invariant: an array is written by one thread at a time, and only while the other one does not touch it.
 */
#ifndef HW_TRANSFER_H
#define HW_TRANSFER_H

#include "base.h"

typedef enum {
    HW_TRANSFER_READ,       /* read what the other one has just updated */
    HW_TRANSFER_OVERWRITE,  /* overwrite what the other one has just updated */
    HW_TRANSFER_UPGRADE,    /* update the own array when the other one has just read it */
    HW_TRANSFER_OWN_READ,   /* read the own array: the same loop without the other core */
    HW_TRANSFER_OWN_OVERWRITE,
    HW_TRANSFER_OWN_UPDATE, /* update the own array that nobody else has touched */
} hw_transfer_kind_t;

/*
 * Measures arrays of n_items doubles behind fillers of n_filler doubles; round_ns gets the duration of each round of the
 * first thread.
 */
int hw_transfer_measure(hw_transfer_kind_t kind, int32_t cpu, int32_t other, int64_t n_items, int64_t n_filler,
                        int32_t n_rounds, int64_t *round_ns);

#endif

/*
 * Whom a worker tries to steal from.
 *
 * Victims are the other workers in groups of increasing distance. One group holding all of them means uniformly random
 * victims: each probe draws anew, as in R. D. Blumofe, C. E. Leiserson, J. ACM 46(5), 1999. With several groups a search
 * visits every worker of the nearest group, from a random one on, then those of the next.
 */
#ifndef HW_VICTIMS_H
#define HW_VICTIMS_H

#include "base.h"

/* Random numbers of one worker: PCG32 (M. E. O'Neill, PCG, Harvey Mudd College HMC-CS-2014-0905). */
typedef struct {
    uint64_t state, increment;
} hw_random_t;

void hw_random_init(hw_random_t *random, uint64_t seed, uint64_t stream);
uint32_t hw_random_next(hw_random_t *random);

/* A random integer below n: high word of the product, as in docs/semantics.md, rule T4. */
static inline int32_t hw_random_below(hw_random_t *random, int32_t n)
{
    return (int32_t)(((uint64_t)hw_random_next(random) * (uint32_t)n) >> 32);
}

/* The victims of one worker, in arrays of the caller: those of group g are victim[ptr[g]] to victim[ptr[g + 1] - 1]. */
typedef struct {
    const int32_t *victim, *ptr;
    int32_t n_groups;
} hw_victims_t;

/* One search through the victims, at first zeros; get them with hw_search_next() until it returns HW_NONE. */
typedef struct {
    int32_t group, visited, first;
} hw_search_t;

int32_t hw_search_next(hw_search_t *search, const hw_victims_t *victims, hw_random_t *random);

#endif

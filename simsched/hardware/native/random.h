/*
 * Random numbers: PCG32 (M. E. O'Neill, PCG, Harvey Mudd College HMC-CS-2014-0905).
 */
#ifndef HW_RANDOM_H
#define HW_RANDOM_H

#include "base.h"

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

#endif

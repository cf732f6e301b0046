/* Numbers that look random and depend on their index alone, so that any task can make any part of the data. */
#ifndef HW_DRAWS_H
#define HW_DRAWS_H

#include <stdint.h>

/* 64 mixed bits (the output function of SplitMix64; Steele, Lea and Flood, OOPSLA 2014). */
static inline uint64_t hw_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = (seed + 1) * 0xD1B54A32D192ED03u + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* A number from 0 to 1, 1 excluded. */
static inline double hw_uniform(uint64_t seed, uint64_t index)
{
    return (double)(int64_t)(hw_bits(seed, index) >> 11) * 0x1p-53;
}

#endif

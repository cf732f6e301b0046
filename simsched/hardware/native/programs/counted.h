/*
 * What programs share: counted runs and random data that Python can repeat (simsched/hardware/programs/_common.py).
 */
#ifndef HW_PROGRAMS_COUNTED_H
#define HW_PROGRAMS_COUNTED_H

#include "../program.h"

/*
 * Every function of such a program counts its run in array 0: one slot per task of the initialisation, of which there
 * are params[0], then one per task of the graph. A slot belongs to one task, hence no two workers write it at a time.
 */
static inline void count_run(const hw_call_t *call)
{
    int64_t *counts = call->arrays[0];

    counts[(call->iteration == 0 ? 0 : call->params[0]) + call->task] += 1;
}

/* Random number `index` of a seed below 2^31, in [0, 1): the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline double hashed_unit(int64_t seed, int64_t index)
{
    uint64_t key = ((uint64_t)seed << 32) + (uint64_t)index + UINT64_C(0x9E3779B97F4A7C15);
    key = (key ^ (key >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94D049BB133111EB);
    key ^= key >> 31;
    return (double)(key >> 11) * 0x1p-53;
}

#endif

/*
 * Counts the ways to place n queens on an n x n board so that none attacks another, row by row.
 *
 * The columns and diagonals that queens attack in the next row are bit sets (Richards, University of Cambridge 1997).
 */
#include <string.h>

#include "counted.h"

enum { SLOT = 8 }; /* numbers of a slot: a cache line, of which the first is used */

/*
 * params: 1 the bit set of all columns; arguments of a leaf: its slot, columns, left diagonals and right diagonals under
 * attack; of an inner task: its slot, the first of its children's, how many they are
 */

static void initialise(const hw_call_t *call)
{
    const int64_t first = call->args[0] * SLOT, last = call->args[1] * SLOT;
    count_run(call);
    memset((int64_t *)call->arrays[1] + first, 0, (size_t)(last - first) * sizeof(int64_t));
}

static int64_t solutions(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    int64_t count = 0;
    if (columns == all)
        return 1;
    for (uint32_t free = all & ~(columns | left | right); free != 0; free &= free - 1) {
        const uint32_t queen = free & (~free + 1);
        count += solutions(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return count;
}

static void search(const hw_call_t *call)
{
    int64_t *slots = call->arrays[1];
    count_run(call);
    slots[call->args[0] * SLOT] = solutions((uint32_t)call->params[1], (uint32_t)call->args[1], (uint32_t)call->args[2],
                                            (uint32_t)call->args[3]);
}

static void add_up(const hw_call_t *call)
{
    int64_t *slots = call->arrays[1];
    int64_t sum = 0;
    count_run(call);
    for (int64_t i = 0; i < call->args[2]; i++)
        sum += slots[(call->args[1] + i) * SLOT];
    slots[call->args[0] * SLOT] = sum;
}

HW_PROGRAM(nqueens, {"initialise", initialise, NULL}, {"place", NULL, add_up}, {"search", search, NULL});

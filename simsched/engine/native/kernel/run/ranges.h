/*
 * Ranges of single numbers and entries; ranges.c is generated from simsched/engine/interface.
 *
 * They are what the checks in check.c may rely on: sizes are checked first, then what is indexed by them.
 */
#ifndef SSK_RANGES_H
#define SSK_RANGES_H

#include "base.h"

static inline int ssk_flawed(ssk_flaw_t *flaw, const char *name, int64_t index)
{
    const char *arrow = strrchr(name, '>'), *dot = strrchr(name, '.'); /* names come from expressions like p->costs.pop_ps */
    flaw->name = dot != NULL ? dot + 1 : arrow != NULL ? arrow + 1 : name;
    flaw->index = index;
    return SSK_ERR_ARGUMENT;
}

/* Leaves the calling function when a number lies outside [low, high]. */
#define CHECK_NUMBER(number, low, high)                                                  \
    do {                                                                                 \
        if (!((number) >= (low) && (number) <= (high)))                                  \
            return ssk_flawed(flaw, #number, SSK_NONE);                                  \
    } while (0)

/* Leaves the calling function when an entry of an array lies outside [low, high]. */
#define CHECK_RANGE(array, count, low, high)                                             \
    do {                                                                                 \
        for (int64_t i_ = 0; i_ < (int64_t)(count); i_++)                                \
            if (!((array)[i_] >= (low) && (array)[i_] <= (high)))                        \
                return ssk_flawed(flaw, #array, i_);                                     \
    } while (0)

/* Leaves the calling function unless `ptr` ascends from 0 to `end` in `count` steps. */
#define CHECK_RISING(ptr, count, end)                                                    \
    do {                                                                                 \
        if ((ptr)[0] != 0)                                                               \
            return ssk_flawed(flaw, #ptr, 0);                                            \
        if ((ptr)[count] != (end))                                                       \
            return ssk_flawed(flaw, #ptr, (count));                                      \
        for (int64_t i_ = 0; i_ < (int64_t)(count); i_++)                                \
            if ((ptr)[i_] > (ptr)[i_ + 1])                                               \
                return ssk_flawed(flaw, #ptr, i_);                                       \
    } while (0)

/* Leaves the calling function when another check has found a flaw. */
#define CHECK_PART(check)                                                                \
    do {                                                                                 \
        int status_ = (check);                                                           \
        if (status_ != SSK_OK)                                                           \
            return status_;                                                              \
    } while (0)

int ssk_problem_ranges(const ssk_problem_t *problem, ssk_flaw_t *flaw) SSK_CHECK_RESULT;
int ssk_graph_ranges(const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw) SSK_CHECK_RESULT;
int ssk_order_ranges(const ssk_order_t *order, const ssk_plan_t *plan, const ssk_problem_t *problem,
                     ssk_flaw_t *flaw) SSK_CHECK_RESULT;
int ssk_plan_ranges(const ssk_plan_t *plan, const ssk_graph_t *graph, const ssk_problem_t *problem,
                    ssk_flaw_t *flaw) SSK_CHECK_RESULT;

/* Tells whether a hook may make a decision, and its numbers are in their ranges. */
bool ssk_may_decide(const ssk_decision_t *decision, int hook);

/* Tells whether two graphs consist of the same arrays. */
bool ssk_is_same_graph(const ssk_graph_t *a, const ssk_graph_t *b);

#endif

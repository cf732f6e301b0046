/*
 * What every file of the kernel needs: allocation through the injected allocator and conversion of durations.
 */
#ifndef SSK_BASE_H
#define SSK_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ssk.h"

_Static_assert(sizeof(double) == 8, "rates and finish keys are IEEE doubles");
_Static_assert(sizeof(size_t) >= 8, "sizes of arrays are computed in size_t");

/* ALWAYS: small functions that take or return structs, which would pass through memory and stall loads behind narrower
 * stores, or that are specialised. NEVER: what is rare, so that it does not take the room of what is not. */
#if defined(__GNUC__)
#define SSK_ALWAYS_INLINE static inline __attribute__((always_inline))
#define SSK_NEVER_INLINE __attribute__((noinline))
#else
#define SSK_ALWAYS_INLINE static inline
#define SSK_NEVER_INLINE
#endif

/* Allocates count zeroed items; NULL when there is no memory. At least one byte is asked for. */
void *ssk_new(const ssk_allocator_t *allocator, size_t count, size_t item_bytes);

/* Frees what ssk_new() or ssk_grow() returned; NULL is allowed. */
static inline void ssk_delete(const ssk_allocator_t *allocator, void *block)
{
    allocator->release(allocator->context, block);
}

/*
 * Makes room for `needed` items in an array of *capacity items by at least doubling it; new items are not initialised.
 * `array` is the address of the pointer to the array, of whatever type. On failure nothing has changed.
 */
int ssk_grow(const ssk_allocator_t *allocator, void *array, size_t *capacity, size_t needed,
             size_t item_bytes) SSK_CHECK_RESULT;

/* Replaces an array by a new one of `count` zeroed items; `array` as above. On failure it becomes NULL. */
int ssk_renew(const ssk_allocator_t *allocator, void *array, size_t count, size_t item_bytes) SSK_CHECK_RESULT;

/* ceil(x) as a duration; what is too long (or not a number) becomes SSK_NEVER, what is negative stays so. */
static inline int64_t ssk_ceil_ps(double x)
{
    if (!(x < 0x1p62))
        return SSK_NEVER;
    if (x <= -0x1p62)
        return -SSK_NEVER;
    int64_t whole = (int64_t)x;
    return whole + (x > (double)whole);
}

/* Sum of two non-negative durations, at most SSK_NEVER. */
static inline int64_t ssk_add_ps(int64_t a, int64_t b)
{
    return a >= SSK_NEVER - b ? SSK_NEVER : a + b;
}

/* n times a non-negative duration, at most SSK_NEVER. */
static inline int64_t ssk_times_ps(int64_t n, int64_t each)
{
    return each > 0 && n > SSK_NEVER / each ? SSK_NEVER : n * each;
}

static inline int64_t ssk_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t ssk_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What flows and timers belong to: workers, then the lanes in which data are copied. */
static inline int32_t ssk_n_entities(const ssk_problem_t *problem)
{
    return problem->n_workers + (problem->copies_data ? problem->n_spaces * problem->n_spaces : 0);
}

/* Whether the operations of a worker's tasks include what their accesses take. */
static inline bool ssk_includes_accesses(const ssk_problem_t *problem, int32_t worker)
{
    return problem->worker_includes != NULL && problem->worker_includes[worker];
}

/* A random integer below n; docs/semantics.md, rule T4. */
static inline uint32_t ssk_draw_below(const ssk_random_t *random, uint32_t n)
{
    return (uint32_t)(((random->next64(random->state) >> 32) * n) >> 32);
}

#endif

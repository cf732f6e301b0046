/*
 * Time stamps: ticks of the processor's counter where that is invariant, else of CLOCK_MONOTONIC.
 *
 * A stamp is ordered: it is taken after everything before it has been executed, and stores after it become visible
 * later. If something with an earlier stamp caused something with a later one on another core, stamps show that order,
 * as far as the counters of the cores agree. Ticks are converted after the run by the time that CLOCK_MONOTONIC has
 * counted between two readings of both.
 */
#ifndef HW_CLOCK_H
#define HW_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef struct {
    bool is_tsc;
    int64_t begin_ticks, begin_ns;
} hw_clock_t;

/* Chooses the counter and reads both clocks for the first time. */
void hw_clock_init(hw_clock_t *clock);

/* Picoseconds per tick, from a second reading; waits until some milliseconds have passed since the first. */
double hw_clock_ps_per_tick(const hw_clock_t *clock);

static inline int64_t hw_monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* How long the calling thread has been on a core. */
static inline int64_t hw_thread_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline int64_t hw_ticks(const hw_clock_t *clock)
{
#if defined(__x86_64__)
    if (clock->is_tsc) {
        unsigned processor;
        return (int64_t)__rdtscp(&processor);
    }
#endif
    (void)clock;
    return hw_monotonic_ns();
}

#endif

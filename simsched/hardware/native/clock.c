#include "clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CALIBRATION_NS = 5 * 1000 * 1000 };

/* Tells whether the counter runs at one rate in all states and can be read in order. */
static bool has_invariant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    bool is_ordered = __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1u << 27));
    return is_ordered && __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
    return false;
#endif
}

/* Reads both clocks at the same moment: of some tries the one with the least time in between. */
static void read_both(const hw_clock_t *clock, int64_t *ticks, int64_t *ns)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = hw_ticks(clock), middle = hw_monotonic_ns(), after = hw_ticks(clock);
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = middle;
        }
    }
}

void hw_clock_init(hw_clock_t *clock)
{
    clock->is_tsc = has_invariant_counter();
    read_both(clock, &clock->begin_ticks, &clock->begin_ns);
}

double hw_clock_ps_per_tick(const hw_clock_t *clock)
{
    int64_t ticks, ns;
    if (!clock->is_tsc)
        return 1000.0;
    do {
        read_both(clock, &ticks, &ns);
    } while (ns - clock->begin_ns < CALIBRATION_NS);
    return 1000.0 * (double)(ns - clock->begin_ns) / (double)(ticks - clock->begin_ticks);
}

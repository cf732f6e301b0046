/* Twenty-five-point stencil in a volume, a wave; simsched/hardware/programs/stencil25.py. */
#include "grid.h"

enum { RADIUS = 4 }; /* weights: of the middle, then of the elements 1, 2, 3 and 4 away */

static inline double at_distance(const double *in, int64_t i, int64_t line, int64_t row, int64_t away)
{
    return (in[i - away] + in[i + away]) + (in[i - away * line] + in[i + away * line]) +
           (in[i - away * row] + in[i + away * row]);
}

/* Not inlined: compilers then forget that `out` and `in` do not overlap, and give up on vectors. */
__attribute__((noinline)) static void twenty_five_points(double *restrict out, const double *restrict in, int64_t line,
                                                         int64_t row, int64_t first, int64_t last,
                                                         const double *weights)
{
    const double middle = weights[0], one = weights[1], two = weights[2], three = weights[3], four = weights[4];
    for (int64_t i = first; i < last; i++)
        out[i] = middle * in[i] - out[i] + one * at_distance(in, i, line, row, 1) +
                 two * at_distance(in, i, line, row, 2) + three * at_distance(in, i, line, row, 3) +
                 four * at_distance(in, i, line, row, 4);
}

static void sweep(const hw_call_t *call)
{
    grid_sweep(call, RADIUS, RADIUS, twenty_five_points);
}

static void initialise(const hw_call_t *call)
{
    grid_initialise(call);
}

static const hw_class_t classes[] = {
    {"divide", NULL, NULL},
    {"sweep", sweep, NULL},
    {"initialise", initialise, NULL},
};

extern const hw_program_t hw_program_stencil25;
const hw_program_t hw_program_stencil25 = {"stencil25", classes, sizeof(classes) / sizeof(*classes)};

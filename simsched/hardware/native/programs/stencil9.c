/* Nine-point stencil on a plane; simsched/hardware/programs/stencil9.py. */
#include "grid.h"

enum { EDGE, CORNER }; /* weights */

static void nine_points(double *restrict out, const double *restrict in, int64_t line, int64_t row, int64_t first,
                        int64_t last, const double *weights)
{
    const double edge = weights[EDGE], corner = weights[CORNER];
    (void)line;
    for (int64_t i = first; i < last; i++)
        out[i] = edge * (in[i - row] + in[i - 1] + in[i + 1] + in[i + row]) +
                 corner * (in[i - row - 1] + in[i - row + 1] + in[i + row - 1] + in[i + row + 1]);
}

static void sweep(const hw_call_t *call)
{
    grid_sweep(call, 1, 0, nine_points);
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

extern const hw_program_t hw_program_stencil9;
const hw_program_t hw_program_stencil9 = {"stencil9", classes, sizeof(classes) / sizeof(*classes)};

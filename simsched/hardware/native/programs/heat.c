/* Heat distribution on a plate, five-point stencil; simsched/hardware/programs/heat.py. */
#include "grid.h"

enum { ACROSS_ROWS, ALONG_ROW }; /* weights */

static void five_points(double *restrict out, const double *restrict in, int64_t line, int64_t row, int64_t first,
                        int64_t last, const double *weights)
{
    const double across = weights[ACROSS_ROWS], along = weights[ALONG_ROW];
    (void)line;
    for (int64_t i = first; i < last; i++)
        out[i] = in[i] + across * (in[i - row] - 2.0 * in[i] + in[i + row]) +
                 along * (in[i - 1] - 2.0 * in[i] + in[i + 1]);
}

static void sweep(const hw_call_t *call)
{
    grid_sweep(call, 1, 0, five_points);
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

extern const hw_program_t hw_program_heat;
const hw_program_t hw_program_heat = {"heat", classes, sizeof(classes) / sizeof(*classes)};

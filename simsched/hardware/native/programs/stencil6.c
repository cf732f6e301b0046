/* Six-point stencil in a volume; simsched/hardware/programs/stencil6.py. */
#include "grid.h"

static void six_points(double *restrict out, const double *restrict in, int64_t line, int64_t row, int64_t first,
                       int64_t last, const double *weights)
{
    const double weight = weights[0];
    for (int64_t i = first; i < last; i++)
        out[i] = weight * (in[i - row] + in[i + row] + in[i - line] + in[i + line] + in[i - 1] + in[i + 1]);
}

static void sweep(const hw_call_t *call)
{
    grid_sweep(call, 1, 1, six_points);
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

extern const hw_program_t hw_program_stencil6;
const hw_program_t hw_program_stencil6 = {"stencil6", classes, sizeof(classes) / sizeof(*classes)};

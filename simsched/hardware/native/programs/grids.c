/*
 * Grids that are swept from one copy to the other, one program per row of simsched/workload/stencils.py that is measured.
 *
 * A grid has rows of lines of elements; a row of a plane is one line, a row of a volume is one of its layers. Each row
 * holds its two copies one after the other: iteration t reads copy (t - 1) & 1 and writes copy t & 1. The outermost
 * elements, `radius` deep, keep their values, but for the first element of every line, which rises at a constant rate:
 * what it was two iterations ago, plus two steps. A line that is computed twice in an iteration has it too high.
 */
#include <string.h>

#include "counted.h"

enum { ROWS, LINES, LENGTH, SEED }; /* params */
enum { RISE, WEIGHTS };             /* constants: rise in one iteration, weights of the stencil */
enum { FIRST, LAST };               /* args: rows first to last - 1 */
enum { PLANE, VOLUME };             /* lines of a plane have no neighbours in their row */

/* Sets elements first to last - 1 of a line from the line `in` and its neighbours in other lines and rows, which lie
 * `line` and `row` elements apart. On entry `out` holds the values of two iterations ago. */
typedef void (*update_t)(double *restrict out, const double *restrict in, int64_t line, int64_t row, int64_t first,
                         int64_t last, const double *restrict weight);

static inline double *row_of(const hw_call_t *call, int64_t row, int64_t copy)
{
    int64_t elements = call->params[LINES] * call->params[LENGTH];
    return (double *)call->arrays[0] + (2 * row + (copy & 1)) * elements;
}

static inline int is_inner(int64_t place, int64_t n_places, int64_t radius)
{
    return place >= radius && place < n_places - radius;
}

static inline void sweep(const hw_call_t *call, int64_t radius, int64_t line_radius, update_t update)
{
    const int64_t rows = call->params[ROWS], lines = call->params[LINES];
    const int64_t length = call->params[LENGTH], apart = 2 * lines * length;
    for (int64_t row = call->args[FIRST]; row < call->args[LAST]; row++) {
        double *out = row_of(call, row, call->iteration);
        const double *in = row_of(call, row, call->iteration - 1);
        for (int64_t line = 0; line < lines; line++, out += length, in += length) {
            double risen = out[0] + 2.0 * call->constants[RISE];
            if (is_inner(row, rows, radius) && is_inner(line, lines, line_radius))
                update(out, in, length, apart, radius, length - radius, call->constants + WEIGHTS);
            else
                memcpy(out, in, (size_t)length * sizeof(*out));
            out[0] = risen;
        }
    }
}

static void initialise(const hw_call_t *call)
{
    const int64_t length = call->params[LENGTH], elements = call->params[LINES] * length;
    for (int64_t row = call->args[FIRST]; row < call->args[LAST]; row++) {
        double *even = row_of(call, row, 0), *odd = row_of(call, row, 1);
        for (int64_t i = 0; i < elements; i++)
            even[i] = odd[i] = hashed_unit(call->params[SEED], row * elements + i);
        for (int64_t i = 0; i < elements; i += length)
            odd[i] -= call->constants[RISE];
    }
}

/*
 * Defines a program by the new value of element i of a line; the weights are those of the table, in its order.
 *
 * Updates are not inlined: compilers then forget that `out` and `in` do not overlap, and give up on vectors.
 */
#define GRID_PROGRAM(name, shape, radius, value)                                                                       \
    __attribute__((noinline)) static void update_##name(double *restrict out, const double *restrict in, int64_t line, \
                                                        int64_t row, int64_t first, int64_t last,                      \
                                                        const double *restrict weight)                                 \
    {                                                                                                                  \
        (void)line;                                                                                                    \
        for (int64_t i = first; i < last; i++)                                                                         \
            out[i] = (value);                                                                                          \
    }                                                                                                                  \
    static void sweep_##name(const hw_call_t *call)                                                                    \
    {                                                                                                                  \
        sweep(call, radius, (shape) * (radius), update_##name);                                                        \
    }                                                                                                                  \
    HW_PROGRAM(name, {"divide", NULL, NULL}, {"sweep", sweep_##name, NULL}, {"initialise", initialise, NULL})

/* The two elements that lie so many elements before and behind. */
#define PAIR(apart) (in[i - (apart)] + in[i + (apart)])
#define STAR(away) (PAIR(away) + PAIR((away) * line) + PAIR((away) * row))

/* The weight of the middle, weight[0], follows from the others. */
GRID_PROGRAM(heat, PLANE, 1,
             in[i] + weight[1] * (in[i - row] - 2.0 * in[i] + in[i + row]) +
                 weight[2] * (in[i - 1] - 2.0 * in[i] + in[i + 1]));

GRID_PROGRAM(stencil9, PLANE, 1,
             weight[0] * (in[i - row] + in[i - 1] + in[i + 1] + in[i + row]) +
                 weight[1] * (in[i - row - 1] + in[i - row + 1] + in[i + row - 1] + in[i + row + 1]));

GRID_PROGRAM(stencil6, VOLUME, 1,
             weight[0] * (in[i - row] + in[i + row] + in[i - line] + in[i + line] + in[i - 1] + in[i + 1]));

GRID_PROGRAM(stencil25, VOLUME, 4,
             weight[0] * in[i] - out[i] + weight[1] * STAR(1) + weight[2] * STAR(2) + weight[3] * STAR(3) +
                 weight[4] * STAR(4));

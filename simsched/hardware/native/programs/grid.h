/*
 * Grids that are swept from one copy to the other, shared by the stencil programs.
 *
 * A grid has rows of lines of elements; a row of a plane is one line, a row of a volume is one of its layers. Each row
 * holds its two copies one after the other: iteration t reads copy (t - 1) & 1 and writes copy t & 1. The outermost
 * elements, `radius` deep, keep their values, but for the first element of every line, which rises at a constant rate:
 * what it was two iterations ago, plus two steps. A line that is computed twice in an iteration has it too high.
 */
#ifndef HW_GRID_H
#define HW_GRID_H

#include <string.h>

#include "../program.h"
#include "counted.h"

enum { GRID_ROWS, GRID_LINES, GRID_LENGTH, GRID_SEED }; /* params */
enum { GRID_RISE, GRID_WEIGHTS };                       /* constants: rise in one iteration, weights of the stencil */
enum { GRID_FIRST, GRID_LAST };                         /* args: rows first to last - 1 */

/* Sets elements first to last - 1 of a line from the line `in` and its neighbours in other lines and rows, which lie
 * `line` and `row` elements apart. On entry `out` holds the values of two iterations ago. */
typedef void (*grid_update_t)(double *restrict out, const double *restrict in, int64_t line, int64_t row,
                              int64_t first, int64_t last, const double *weights);

static inline double *grid_row(const hw_call_t *call, int64_t row, int64_t copy)
{
    int64_t elements = call->params[GRID_LINES] * call->params[GRID_LENGTH];
    return (double *)call->arrays[0] + (2 * row + (copy & 1)) * elements;
}

static inline int grid_is_inner(int64_t place, int64_t n_places, int64_t radius)
{
    return place >= radius && place < n_places - radius;
}

/* Lines of a plane have no neighbours in their row: their line_radius is 0. */
static inline void grid_sweep(const hw_call_t *call, int64_t radius, int64_t line_radius, grid_update_t update)
{
    const int64_t rows = call->params[GRID_ROWS], lines = call->params[GRID_LINES];
    const int64_t length = call->params[GRID_LENGTH], apart = 2 * lines * length;
    for (int64_t row = call->args[GRID_FIRST]; row < call->args[GRID_LAST]; row++) {
        double *out = grid_row(call, row, call->iteration);
        const double *in = grid_row(call, row, call->iteration - 1);
        for (int64_t line = 0; line < lines; line++, out += length, in += length) {
            double risen = out[0] + 2.0 * call->constants[GRID_RISE];
            if (grid_is_inner(row, rows, radius) && grid_is_inner(line, lines, line_radius))
                update(out, in, length, apart, radius, length - radius, call->constants + GRID_WEIGHTS);
            else
                memcpy(out, in, (size_t)length * sizeof(*out));
            out[0] = risen;
        }
    }
}

static inline void grid_initialise(const hw_call_t *call)
{
    const int64_t length = call->params[GRID_LENGTH], elements = call->params[GRID_LINES] * length;
    for (int64_t row = call->args[GRID_FIRST]; row < call->args[GRID_LAST]; row++) {
        double *even = grid_row(call, row, 0), *odd = grid_row(call, row, 1);
        for (int64_t i = 0; i < elements; i++)
            even[i] = odd[i] = hashed_unit(call->params[GRID_SEED], row * elements + i);
        for (int64_t i = 0; i < elements; i += length)
            odd[i] -= call->constants[GRID_RISE];
    }
}

#endif

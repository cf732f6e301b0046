/*
 * Gaussian elimination without exchanges; simsched/hardware/programs/ge.py.
 *
 * Step after step, a block of pivot rows is eliminated within itself, then from all rows below it. Factors replace the
 * elements that they make zero, so that the matrix ends as L (without its unit diagonal) and U.
 */
#include "counted.h"
#include "product.h"

enum { SIZE, STRIDE, PIVOT_ROWS, SEED };  /* params: order, elements from one row to the next, rows of a step */
enum { STEP_FIRST, ROW_FIRST, ROW_LAST }; /* args: first pivot row, rows of the task */

/* Row `below` of the matrix loses what makes its element in column `pivot` zero, up to column last - 1. */
static inline void subtract_row(double *restrict below, const double *restrict row, int64_t pivot, int64_t last)
{
    const double factor = below[pivot] / row[pivot];
    below[pivot] = factor;
    for (int64_t column = pivot + 1; column < last; column++)
        below[column] -= factor * row[column];
}

static void pivot(const hw_call_t *call)
{
    double *matrix = call->arrays[0];
    const int64_t stride = call->params[STRIDE];
    for (int64_t row = call->args[ROW_FIRST]; row < call->args[ROW_LAST]; row++)
        for (int64_t below = row + 1; below < call->args[ROW_LAST]; below++)
            subtract_row(matrix + below * stride, matrix + row * stride, row, call->params[SIZE]);
}

static void eliminate(const hw_call_t *call)
{
    double *matrix = call->arrays[0];
    const int64_t stride = call->params[STRIDE], depth = call->params[PIVOT_ROWS];
    const int64_t first = call->args[STEP_FIRST], behind = first + depth;
    const int64_t row_first = call->args[ROW_FIRST], row_last = call->args[ROW_LAST];
    for (int64_t below = row_first; below < row_last; below++)
        for (int64_t row = first; row < behind; row++)
            subtract_row(matrix + below * stride, matrix + row * stride, row, behind);
    double *rows = matrix + row_first * stride;
    hw_product_t update = {
        .c = rows + behind,
        .a = rows + first,
        .b = matrix + first * stride + behind,
        .c_row = stride,
        .a_row = stride,
        .a_step = 1,
        .b_row = stride,
        .depth = depth,
        .sign = -1.0,
    };
    hw_product(&update, row_last - row_first, call->params[SIZE] - behind);
}

static void initialise(const hw_call_t *call)
{
    const int64_t size = call->params[SIZE], stride = call->params[STRIDE];
    for (int64_t row = call->args[ROW_FIRST]; row < call->args[ROW_LAST]; row++) {
        double *elements = (double *)call->arrays[0] + row * stride;
        for (int64_t column = 0; column < size; column++)
            elements[column] = hashed_unit(call->params[SEED], row * size + column) - 0.5;
        for (int64_t column = size; column < stride; column++)
            elements[column] = 0.0;
        elements[row] += (double)size;
    }
}

HW_PROGRAM(ge, {"divide", NULL, NULL}, {"pivot", pivot, NULL}, {"eliminate", eliminate, NULL},
           {"initialise", initialise, NULL});

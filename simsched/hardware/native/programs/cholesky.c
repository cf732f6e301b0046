/*
 * Tiled Cholesky factorisation, right-looking; simsched/hardware/programs/cholesky.py.
 *
 * The tiles of the lower triangle are stored one after the other, row by row; within a tile, columns are contiguous, as
 * in LAPACK. A row of hw_product() is thus a column of a tile. Of tiles on the diagonal only the lower half is used;
 * the upper half holds numbers without a meaning.
 */
#include <math.h>

#include "counted.h"
#include "product.h"

enum { TILES, TILE_SIZE, SEED };  /* params: tiles in a row of the matrix, elements in a row of a tile */
enum { STEP, ROW, COLUMN };       /* args: step, tile written; of the initialisation only the tile */
enum { PANEL = 8 };               /* columns that are solved one by one before the others are updated */

static double *tile_of(const hw_call_t *call, int64_t row, int64_t column)
{
    const int64_t size = call->params[TILE_SIZE];
    return (double *)call->arrays[0] + (row * (row + 1) / 2 + column) * size * size;
}

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Columns first to last - 1 of `tile`, from row `top` on, lose the product of columns 0 to depth - 1 of `left` and the
 * rows first to last - 1 of `right`. */
static void subtract(double *tile, const double *left, const double *right, int64_t size, int64_t top, int64_t first,
                     int64_t last, int64_t depth)
{
    hw_product_t product = {
        .c = tile + first * size + top,
        .a = right + first,
        .b = left + top,
        .c_row = size,
        .a_row = 1,
        .a_step = size,
        .b_row = size,
        .depth = depth,
        .sign = -1.0,
    };
    hw_product(&product, last - first, size - top);
}

/* Column `later` loses `share` times column `own`. */
static inline void subtract_column(double *restrict later, const double *restrict own, double share, int64_t size)
{
    for (int64_t row = 0; row < size; row++)
        later[row] -= share * own[row];
}

/* Divides column `column` by `divisor`, from row `top` on, and takes its share from the columns up to last - 1. */
static void settle(double *tile, const double *factor, int64_t size, int64_t column, int64_t top, int64_t last,
                   double divisor)
{
    double *own = tile + column * size;
    for (int64_t row = top; row < size; row++)
        own[row] /= divisor;
    for (int64_t right = column + 1; right < last; right++)
        subtract_column(tile + right * size + top, own + top, factor[column * size + right], size - top);
}

static void potrf(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE];
    double *tile = tile_of(call, call->args[ROW], call->args[COLUMN]);
    for (int64_t first = 0; first < size; first += PANEL) {
        int64_t last = least(first + PANEL, size);
        subtract(tile, tile, tile, size, first, first, last, first);
        for (int64_t column = first; column < last; column++)
            settle(tile, tile, size, column, column, last, sqrt(tile[column * size + column]));
    }
}

static void trsm(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE];
    const double *factor = tile_of(call, call->args[STEP], call->args[STEP]);
    double *tile = tile_of(call, call->args[ROW], call->args[COLUMN]);
    for (int64_t first = 0; first < size; first += PANEL) {
        int64_t last = least(first + PANEL, size);
        subtract(tile, tile, factor, size, 0, first, last, first);
        for (int64_t column = first; column < last; column++)
            settle(tile, factor, size, column, 0, last, factor[column * size + column]);
    }
}

static void syrk(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE];
    const double *panel = tile_of(call, call->args[ROW], call->args[STEP]);
    double *tile = tile_of(call, call->args[ROW], call->args[COLUMN]);
    for (int64_t first = 0; first < size; first += PANEL)
        subtract(tile, panel, panel, size, first, first, least(first + PANEL, size), size);
}

static void gemm(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE];
    subtract(tile_of(call, call->args[ROW], call->args[COLUMN]), tile_of(call, call->args[ROW], call->args[STEP]),
             tile_of(call, call->args[COLUMN], call->args[STEP]), size, 0, 0, size, size);
}

static void initialise(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE], order = size * call->params[TILES];
    const int64_t first_row = call->args[ROW] * size, first_column = call->args[COLUMN] * size;
    double *tile = tile_of(call, call->args[ROW], call->args[COLUMN]);
    for (int64_t column = first_column; column < first_column + size; column++)
        for (int64_t row = first_row; row < first_row + size; row++, tile++) {
            int64_t index = row * order + column;
            *tile = row < column ? 0.0 : hashed_unit(call->params[SEED], index) - 0.5;
            if (row == column)
                *tile += (double)order;
        }
}

HW_PROGRAM(cholesky, {"potrf", potrf, NULL}, {"trsm", trsm, NULL}, {"syrk", syrk, NULL}, {"gemm", gemm, NULL},
           {"initialise", initialise, NULL});

/* Product of two tiled matrices; simsched/hardware/programs/matmul.py. Tiles are stored row by row, each contiguous. */
#include "counted.h"
#include "product.h"

enum { TILES, TILE_SIZE, SEED };  /* params: tiles in a row, elements in a row of a tile */
enum { LEFT, RIGHT, RESULT };     /* arrays */
enum { ROW, COLUMN, INNER };      /* args of multiply: tile of the result, tile of the sum */
enum { INIT_MATRIX, INIT_TILE };  /* args of initialise: array, tile */

static double *tile_of(const hw_call_t *call, int matrix, int64_t row, int64_t column)
{
    const int64_t size = call->params[TILE_SIZE];
    return (double *)call->arrays[matrix] + (row * call->params[TILES] + column) * size * size;
}

static void multiply(const hw_call_t *call)
{
    const int64_t size = call->params[TILE_SIZE];
    const int64_t row = call->args[ROW], column = call->args[COLUMN], inner = call->args[INNER];
    hw_product_t product = {
        .c = tile_of(call, RESULT, row, column),
        .a = tile_of(call, LEFT, row, inner),
        .b = tile_of(call, RIGHT, inner, column),
        .c_row = size,
        .a_row = size,
        .a_step = 1,
        .b_row = size,
        .depth = size,
        .sign = 1.0,
    };
    hw_product(&product, size, size);
}

static void initialise(const hw_call_t *call)
{
    const int64_t elements = call->params[TILE_SIZE] * call->params[TILE_SIZE];
    const int64_t matrix = call->args[INIT_MATRIX], first = call->args[INIT_TILE] * elements;
    double *tile = (double *)call->arrays[matrix] + first;
    const int64_t seed = 2 * call->params[SEED] + matrix;
    for (int64_t i = 0; i < elements; i++)
        tile[i] = matrix == RESULT ? 0.0 : hashed_unit(seed, first + i) - 0.5;
}

HW_PROGRAM(matmul, {"multiply", multiply, NULL}, {"initialise", initialise, NULL});

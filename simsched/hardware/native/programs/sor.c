/*
 * Red-black successive over-relaxation on a plate; simsched/hardware/programs/sor.py.
 *
 * A row holds the elements of colour 0, then those of colour 1; element k of colour q in row r is column
 * 2 k + ((r + q) & 1). Iteration t updates colour (t - 1) & 1 from the other one, in place.
 */
#include "counted.h"

enum { ROWS, COLUMNS, SEED }; /* params */
enum { KEPT, SHARE };         /* constants: 1 - omega, omega / 4 */
enum { FIRST, LAST };         /* args: rows first to last - 1 */

static inline int64_t half(const hw_call_t *call)
{
    return (call->params[COLUMNS] + 1) / 2;
}

static inline double *row_of_colour(const hw_call_t *call, int64_t row, int64_t colour)
{
    return (double *)call->arrays[0] + (2 * row + colour) * half(call);
}

static void relax(double *restrict own, const double *restrict above, const double *restrict beside,
                  const double *restrict below, int64_t first, int64_t last, const double *constants)
{
    const double kept = constants[KEPT], share = constants[SHARE];
    for (int64_t k = first; k < last; k++)
        own[k] = kept * own[k] + share * (above[k] + beside[k - 1] + beside[k] + below[k]);
}

static void sweep(const hw_call_t *call)
{
    const int64_t rows = call->params[ROWS], colour = (call->iteration - 1) & 1, other = 1 - colour;
    for (int64_t row = call->args[FIRST]; row < call->args[LAST]; row++) {
        if (row == 0 || row == rows - 1)
            continue;
        int64_t odd = (row + colour) & 1;
        relax(row_of_colour(call, row, colour), row_of_colour(call, row - 1, other),
              row_of_colour(call, row, other) + odd, row_of_colour(call, row + 1, other), 1 - odd,
              (call->params[COLUMNS] - odd) / 2, call->constants);
    }
}

static void initialise(const hw_call_t *call)
{
    const int64_t columns = call->params[COLUMNS];
    for (int64_t row = call->args[FIRST]; row < call->args[LAST]; row++)
        for (int64_t colour = 0; colour < 2; colour++) {
            double *own = row_of_colour(call, row, colour);
            int64_t first = row * columns + ((row + colour) & 1);
            for (int64_t k = 0; k < half(call); k++)
                own[k] = hashed_unit(call->params[SEED], first + 2 * k);
        }
}

HW_PROGRAM(sor, {"divide", NULL, NULL}, {"sweep", sweep, NULL}, {"initialise", initialise, NULL});

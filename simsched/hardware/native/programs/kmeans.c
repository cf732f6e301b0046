/*
 * Lloyd's iteration for k-means: leaves assign their points to the nearest centre and add them up, joins add the sums
 * of their children, and the join of the root moves the centres.
 *
 * A slot of sums holds, for each centre, the sums of the coordinates of its points and their number.
 */
#include <string.h>

#include "counted.h"

enum { POINTS = 1, CENTRES = 2, SUMS = 3 }; /* arrays */

/*
 * params: 1 the seed, 2 the number of centres, 3 the dimensions, 4 the numbers of a slot with padding
 * arguments of a leaf: its slot, its first point, the point after its last; of an inner task: its slot and those of its
 * two children
 */

/* Draws points first to last - 1. */
static void draw(const hw_call_t *call, double *points, int64_t first, int64_t last)
{
    count_run(call);
    for (int64_t i = first * call->params[3]; i < last * call->params[3]; i++)
        points[i] = hashed_unit(call->params[1], i);
}

static void initialise(const hw_call_t *call)
{
    draw(call, call->arrays[POINTS], call->args[1], call->args[2]);
}

/* The centres start at the first points. */
static void place_centres(const hw_call_t *call)
{
    draw(call, call->arrays[CENTRES], 0, call->params[2]);
}

static double *slot_of(const hw_call_t *call, int64_t slot)
{
    return (double *)call->arrays[SUMS] + slot * call->params[4];
}

static int64_t nearest_centre(const double *point, const double *centres, int64_t n_centres, int64_t dimensions)
{
    double least = 0.0;
    int64_t nearest = 0;
    for (int64_t c = 0; c < n_centres; c++) {
        double distance = 0.0;
        for (int64_t d = 0; d < dimensions; d++) {
            const double apart = point[d] - centres[c * dimensions + d];
            distance += apart * apart;
        }
        if (c == 0 || distance < least) {
            least = distance;
            nearest = c;
        }
    }
    return nearest;
}

static void assign(const hw_call_t *call)
{
    const int64_t n_centres = call->params[2], dimensions = call->params[3];
    const double *points = call->arrays[POINTS], *centres = call->arrays[CENTRES];
    double *sums = slot_of(call, call->args[0]);
    count_run(call);
    memset(sums, 0, (size_t)(n_centres * (dimensions + 1)) * sizeof(*sums));
    for (int64_t i = call->args[1]; i < call->args[2]; i++) {
        const double *point = points + i * dimensions;
        double *sum = sums + nearest_centre(point, centres, n_centres, dimensions) * (dimensions + 1);
        for (int64_t d = 0; d < dimensions; d++)
            sum[d] += point[d];
        sum[dimensions] += 1.0;
    }
}

static void reduce(const hw_call_t *call)
{
    double *sums = slot_of(call, call->args[0]);
    const double *left = slot_of(call, call->args[1]), *right = slot_of(call, call->args[2]);
    count_run(call);
    for (int64_t i = 0; i < call->params[2] * (call->params[3] + 1); i++)
        sums[i] = left[i] + right[i];
}

/* A centre without points stays. */
static void move_centres(const hw_call_t *call)
{
    const int64_t dimensions = call->params[3];
    const double *sums = slot_of(call, call->args[0]);
    double *centres = call->arrays[CENTRES];
    reduce(call);
    for (int64_t c = 0; c < call->params[2]; c++) {
        const double *sum = sums + c * (dimensions + 1);
        for (int64_t d = 0; sum[dimensions] > 0.0 && d < dimensions; d++)
            centres[c * dimensions + d] = sum[d] / sum[dimensions];
    }
}

HW_PROGRAM(kmeans, {"divide", NULL, NULL}, {"initialise", initialise, NULL}, {"place", place_centres, NULL},
           {"assign", assign, NULL}, {"reduce", NULL, reduce}, {"move", NULL, move_centres});

/*
 * Merge sort of doubles: leaves sort a copy of their part of the input, joins merge two sorted neighbours.
 *
 * A merge first copies the left neighbour to the buffer, then merges from there and from the right neighbour into
 * place. The place never overtakes what is left of the right neighbour, which therefore needs no copy.
 */
#include <string.h>

#include "counted.h"

enum { KEYS = 1, DATA = 2, BUFFER = 3 }; /* arrays */
enum { RUN = 16 };                       /* keys that are sorted by insertion */

/* params: 1 the seed; arguments: first key, first key of the right half, key after the last */

static void initialise(const hw_call_t *call)
{
    const int64_t first = call->args[0], last = call->args[2];
    double *keys = call->arrays[KEYS], *data = call->arrays[DATA], *buffer = call->arrays[BUFFER];
    count_run(call);
    for (int64_t i = first; i < last; i++) {
        keys[i] = hashed_unit(call->params[1], i);
        data[i] = 0.0;
        buffer[i] = 0.0;
    }
}

static void insertion_sort(double *data, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const double key = data[i];
        int64_t place = i;
        for (; place > 0 && data[place - 1] > key; place--)
            data[place] = data[place - 1];
        data[place] = key;
    }
}

/* Merges data[0 .. middle) and data[middle .. count), both sorted. */
static void merge(double *data, double *buffer, int64_t middle, int64_t count)
{
    int64_t left = 0, right = middle, out = 0;
    memcpy(buffer, data, (size_t)middle * sizeof(*data));
    while (left < middle && right < count) {
        const double a = buffer[left], b = data[right];
        const int64_t takes_right = b < a; /* no branch: which way it goes cannot be predicted */
        data[out++] = b < a ? b : a;
        right += takes_right;
        left += 1 - takes_right;
    }
    while (left < middle)
        data[out++] = buffer[left++];
}

static void sort_leaf(const hw_call_t *call)
{
    const int64_t first = call->args[0], count = call->args[2] - first;
    const double *keys = (const double *)call->arrays[KEYS] + first;
    double *data = (double *)call->arrays[DATA] + first, *buffer = (double *)call->arrays[BUFFER] + first;
    count_run(call);
    memcpy(data, keys, (size_t)count * sizeof(*data));
    for (int64_t i = 0; i < count; i += RUN)
        insertion_sort(data + i, count - i < RUN ? count - i : RUN);
    for (int64_t width = RUN; width < count; width *= 2)
        for (int64_t i = 0; i + width < count; i += 2 * width)
            merge(data + i, buffer + i, width, count - i < 2 * width ? count - i : 2 * width);
}

static void merge_halves(const hw_call_t *call)
{
    const int64_t first = call->args[0];
    count_run(call);
    merge((double *)call->arrays[DATA] + first, (double *)call->arrays[BUFFER] + first, call->args[1] - first,
          call->args[2] - first);
}

HW_PROGRAM(merge_sort, {"divide", NULL, NULL}, {"initialise", initialise, NULL}, {"merge", NULL, merge_halves},
           {"sort", sort_leaf, NULL});

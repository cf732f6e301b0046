/*
 * Fast Fourier transform, radix 2, by decimation in frequency: the result is in bit-reversed order.
 *
 * A table of roots holds exp(-2 pi i k / n) for k < n / 2 at n / 2 + k, for every power of two n: those that a part of a
 * step needs lie side by side.
 */
#include "counted.h"

enum { SIGNAL = 1, WORK = 2, GIVEN_ROOTS = 3, ROOTS = 4 }; /* arrays */

/*
 * params: 1 the points of a block, 2 the seed
 * arguments: first point of the lower block, distance to the upper block, first root; whether this is the first step,
 * which reads the signal instead of what the step before it left
 */

typedef struct {
    double re, im;
} complex_t;

static void initialise(const hw_call_t *call)
{
    const int64_t n = call->params[1], first = call->args[0];
    const complex_t *given = (const complex_t *)call->arrays[GIVEN_ROOTS] + first;
    complex_t *signal = (complex_t *)call->arrays[SIGNAL] + first, *work = (complex_t *)call->arrays[WORK] + first;
    complex_t *roots = (complex_t *)call->arrays[ROOTS] + first;
    count_run(call);
    for (int64_t i = 0; i < n; i++) {
        signal[i] = (complex_t){hashed_unit(call->params[2], 2 * (first + i)) - 0.5,
                                hashed_unit(call->params[2], 2 * (first + i) + 1) - 0.5};
        work[i] = (complex_t){0.0, 0.0};
        roots[i] = given[i];
    }
}

/* Writes to `out` the sums of two inputs and, `distance` later, their differences times the roots. */
static inline void butterflies(const complex_t *in, complex_t *out, const complex_t *roots, int64_t count,
                               int64_t distance)
{
    for (int64_t i = 0; i < count; i++) {
        const complex_t a = in[i], b = in[i + distance], root = roots[i];
        const double re = a.re - b.re, im = a.im - b.im;
        out[i] = (complex_t){a.re + b.re, a.im + b.im};
        out[i + distance] = (complex_t){re * root.re - im * root.im, re * root.im + im * root.re};
    }
}

static const complex_t *input_of(const hw_call_t *call)
{
    return (const complex_t *)call->arrays[call->args[3] ? SIGNAL : WORK] + call->args[0];
}

static void combine(const hw_call_t *call)
{
    const complex_t *roots = (const complex_t *)call->arrays[ROOTS] + call->args[2];
    count_run(call);
    butterflies(input_of(call), (complex_t *)call->arrays[WORK] + call->args[0], roots, call->params[1],
                call->args[1]);
}

/* Transforms one block to the end. */
static void transform(const hw_call_t *call)
{
    const int64_t n = call->params[1];
    const complex_t *in = input_of(call), *roots = call->arrays[ROOTS];
    complex_t *work = (complex_t *)call->arrays[WORK] + call->args[0];
    count_run(call);
    for (int64_t half = n / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < n; i += 2 * half)
            butterflies(in + i, work + i, roots + half, half, half);
        in = work;
    }
}

HW_PROGRAM(fft, {"initialise", initialise, NULL}, {"combine", combine, NULL}, {"transform", transform, NULL});

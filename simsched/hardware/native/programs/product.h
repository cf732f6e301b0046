/*
 * Products of dense blocks, the inner part of matrix multiplication and of factorisations.
 *
 * c(i, j) += sign * sum of a(i, k) * b(k, j) over k, where rows of b and c are contiguous and a may be stored either way
 * round. Four rows by two vectors of c are summed up at a time in registers, so that one step over k loads few numbers
 * for many multiply-adds; what is left at the edges is done element by element. (Goto and van de Geijn, Anatomy of
 * high-performance matrix multiplication, ACM TOMS 34(3), 2008, without its packing, which small blocks do without.)
 *
 * Vectors are spelled out because compilers do not keep an array of sums in registers reliably.
 */
#ifndef HW_PRODUCT_H
#define HW_PRODUCT_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
enum { HW_LANES = 8 };
#elif defined(__AVX__)
enum { HW_LANES = 4 };
#else
enum { HW_LANES = 2 };
#endif

enum { HW_TALL = 4, HW_WIDE = 2 * HW_LANES };

typedef double hw_vector_t __attribute__((vector_size(HW_LANES * sizeof(double))));

typedef struct {
    double *c;       /* result, row i at c + i * c_row */
    const double *a; /* a(i, k) at a + i * a_row + k * a_step */
    const double *b; /* row k at b + k * b_row */
    int64_t c_row, a_row, a_step, b_row;
    int64_t depth; /* values of k */
    double sign;   /* 1 or -1 */
} hw_product_t;

static inline void hw_add_to(double *c, hw_vector_t sum, double sign)
{
    hw_vector_t old;
    memcpy(&old, c, sizeof(old));
    old += sign * sum;
    memcpy(c, &old, sizeof(old));
}

static inline void hw_product_block(const hw_product_t *p, int64_t row, int64_t column)
{
    const double *a = p->a + row * p->a_row, *b = p->b + column;
    const int64_t a_row = p->a_row, depth = p->depth;
    hw_vector_t left[HW_TALL] = {{0}}, right[HW_TALL] = {{0}};
    for (int64_t k = 0; k < depth; k++, a += p->a_step, b += p->b_row) {
        hw_vector_t b_left, b_right;
        memcpy(&b_left, b, sizeof(b_left));
        memcpy(&b_right, b + HW_LANES, sizeof(b_right));
        for (int i = 0; i < HW_TALL; i++) {
            left[i] += a[i * a_row] * b_left;
            right[i] += a[i * a_row] * b_right;
        }
    }
    double *c = p->c + row * p->c_row + column;
    for (int i = 0; i < HW_TALL; i++, c += p->c_row) {
        hw_add_to(c, left[i], p->sign);
        hw_add_to(c + HW_LANES, right[i], p->sign);
    }
}

/* Rows first_row to last_row - 1 and columns likewise, element by element. */
static inline void hw_product_edge(const hw_product_t *p, int64_t first_row, int64_t last_row, int64_t first_column,
                                   int64_t last_column)
{
    for (int64_t i = first_row; i < last_row; i++) {
        double *restrict c = p->c + i * p->c_row;
        for (int64_t k = 0; k < p->depth; k++) {
            const double *restrict b = p->b + k * p->b_row;
            double factor = p->sign * p->a[i * p->a_row + k * p->a_step];
            for (int64_t j = first_column; j < last_column; j++)
                c[j] += factor * b[j];
        }
    }
}

static inline void hw_product(const hw_product_t *p, int64_t rows, int64_t columns)
{
    const int64_t whole_rows = rows - rows % HW_TALL, whole_columns = columns - columns % HW_WIDE;
    for (int64_t i = 0; i < whole_rows; i += HW_TALL)
        for (int64_t j = 0; j < whole_columns; j += HW_WIDE)
            hw_product_block(p, i, j);
    hw_product_edge(p, 0, whole_rows, whole_columns, columns);
    hw_product_edge(p, whole_rows, rows, 0, columns);
}

#endif

/**
 * @file softmax.c
 * @brief The oracle of softmax: the definition, with the largest score subtracted against overflow.
 */
#include "softmax.h"

#include <math.h>
#include <stddef.h>

double ref_softmax_row(double *row, int64_t cols)
{
    double largest = -INFINITY;
    /* fmax() would drop a NaN. Once `largest` is NaN no comparison is true, so it stays NaN. */
    for (int64_t j = 0; j < cols; j++)
        if (row[j] > largest || isnan(row[j])) largest = row[j];

    if (largest == -INFINITY) {
        for (int64_t j = 0; j < cols; j++) row[j] = 0.0;
        return -INFINITY;
    }

    double sum = 0.0;
    for (int64_t j = 0; j < cols; j++) {
        row[j] = exp(row[j] - largest);
        sum += row[j];
    }
    for (int64_t j = 0; j < cols; j++) row[j] /= sum;
    return largest + log(sum);
}

void ref_softmax_rows(const float *in, double *out, double *lse, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        double *out_row = out + i * cols;
        for (int64_t j = 0; j < cols; j++) out_row[j] = in[i * cols + j];
        double row_lse = ref_softmax_row(out_row, cols);
        if (lse != NULL) lse[i] = row_lse;
    }
}

void ref_softmax_merge(double m_a, double l_a, double m_b, double l_b, double *m, double *l)
{
    double larger = m_b > m_a || isnan(m_b) ? m_b : m_a;
    *m = larger;
    if (larger == -INFINITY) { /* both are empty, and -infinity - -infinity would be NaN */
        *l = l_a + l_b;
        return;
    }
    *l = l_a * exp(m_a - larger) + l_b * exp(m_b - larger);
}

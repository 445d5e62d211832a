/**
 * @file plain.c
 * @brief Several sums at a time, so that their additions need not wait for each other.
 */
#include "plain.h"

#include "base/wide.h"

WIDE void plain_dots(const float *q, const float *k, size_t head_dim, size_t keys, double *dots)
{
    enum { TOGETHER = 8 };
    size_t first = 0;
    for (; first + TOGETHER <= keys; first += TOGETHER) {
        const float *rows = k + first * head_dim;
        float sum[TOGETHER] = {0.0f};
        for (size_t d = 0; d < head_dim; d++)
            for (size_t j = 0; j < TOGETHER; j++) sum[j] += q[d] * rows[j * head_dim + d];
        for (size_t j = 0; j < TOGETHER; j++) dots[first + j] = (double)sum[j];
    }
    for (; first < keys; first++) {
        float sum = 0.0f;
        for (size_t d = 0; d < head_dim; d++) sum += q[d] * k[first * head_dim + d];
        dots[first] = (double)sum;
    }
}

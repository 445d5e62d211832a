/**
 * @file attention_gradients.c
 * @brief The oracle of attention's gradients: the chain rule, one query row at a time.
 */
#include "attention_gradients.h"

#include <math.h>
#include <stddef.h>

#include "base/wide.h"

/** sum_d a_d * b_d, and in *size sum_d |a_d * b_d|; several sums side by side. */
WIDE static double dot(const float *a, const float *b, int count, double *size)
{
    enum { SUMS = 8 };
    double sum[SUMS] = {0.0}, sizes[SUMS] = {0.0};
    for (int d = 0; d < count; d++) {
        double product = (double)a[d] * (double)b[d];
        sum[d % SUMS] += product;
        sizes[d % SUMS] += fabs(product);
    }
    for (int s = 1; s < SUMS; s++) {
        sum[0] += sum[s];
        sizes[0] += sizes[s];
    }
    *size = sizes[0];
    return sum[0];
}

static double copies_of(const struct ref_backward_row *row, int j)
{
    return row->copies != NULL ? row->copies[j] : 1.0;
}

/* Scores become probabilities in place. */
static void softmax(int visible, struct ref_backward_row *row)
{
    double max = (double)-INFINITY, sum = 0.0;
    for (int j = 0; j < visible; j++) max = fmax(max, row->probs[j]);
    for (int j = 0; j < visible; j++) sum += copies_of(row, j) * exp(row->probs[j] - max);
    row->lse = visible > 0 ? max + log(sum) : (double)-INFINITY;
    for (int j = 0; j < visible; j++) row->probs[j] = exp(row->probs[j] - max) / sum;
}

void ref_attention_backward_row(const struct ref_attention_shape *shape, int visible, const float *q,
                                const float *dout, const float *k, const float *v,
                                struct ref_backward_row *row)
{
    int head_dim = shape->head_dim;
    double scale = ref_attention_scale(shape);
    for (int j = 0; j < visible; j++) {
        row->probs[j] = scale * dot(q, k + (size_t)j * (size_t)head_dim, head_dim, &row->score_sizes[j]);
        row->score_sizes[j] *= fabs(scale);
        if (dout != NULL)
            row->dprobs[j] = dot(dout, v + (size_t)j * (size_t)head_dim, head_dim, &row->dprob_sizes[j]);
    }
    softmax(visible, row);
    for (int d = 0; d < head_dim; d++) row->out[d] = 0.0;
    for (int j = 0; j < visible; j++) {
        double weight = copies_of(row, j) * row->probs[j];
        for (int d = 0; d < head_dim; d++)
            row->out[d] += weight * (double)v[(size_t)j * (size_t)head_dim + (size_t)d];
    }
    if (dout == NULL) return;
    row->d = 0.0;
    for (int d = 0; d < head_dim; d++) row->d += visible > 0 ? (double)dout[d] * row->out[d] : 0.0;
    for (int j = 0; j < visible; j++) row->dscores[j] = row->probs[j] * (row->dprobs[j] - row->d);
}

void ref_attention_backward(const struct ref_attention_shape *shape, const float *q, const float *k,
                            const float *v, const float *dout, double *scratch, double *dq, double *dk,
                            double *dv)
{
    size_t kv_len = (size_t)shape->kv_len, head_dim = (size_t)shape->head_dim;
    size_t rows = (size_t)shape->batch * (size_t)shape->heads * (size_t)shape->q_len;
    size_t kv_elems = (size_t)shape->batch * (size_t)shape->kv_heads * kv_len * head_dim;
    struct ref_backward_row row = {.probs = scratch,
                                   .dprobs = scratch + kv_len,
                                   .dscores = scratch + 2 * kv_len,
                                   .score_sizes = scratch + 3 * kv_len,
                                   .dprob_sizes = scratch + 4 * kv_len,
                                   .out = scratch + 5 * kv_len};
    double scale = ref_attention_scale(shape);
    for (size_t i = 0; i < rows * head_dim; i++) dq[i] = 0.0;
    for (size_t i = 0; i < kv_elems; i++) dk[i] = dv[i] = 0.0;
    for (size_t at = 0; at < rows; at++) {
        size_t group = (size_t)(shape->heads / shape->kv_heads);
        size_t first = at / (size_t)shape->q_len / group * kv_len; /* of its K/V head */
        int visible = ref_attention_visible(shape, (int)(at % (size_t)shape->q_len));
        const float *q_row = q + at * head_dim, *do_row = dout + at * head_dim;
        ref_attention_backward_row(shape, visible, q_row, do_row, k + first * head_dim, v + first * head_dim,
                                   &row);
        for (size_t j = 0; j < (size_t)visible; j++)
            for (size_t d = 0; d < head_dim; d++) {
                size_t key = (first + j) * head_dim + d;
                dv[key] += row.probs[j] * (double)do_row[d];
                dk[key] += scale * row.dscores[j] * (double)q_row[d];
                dq[at * head_dim + d] += scale * row.dscores[j] * (double)k[key];
            }
    }
}

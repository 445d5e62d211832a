/**
 * @file attention.c
 * @brief The oracle of attention: the definition, one query row at a time.
 */
#include "attention.h"

#include <math.h>
#include <stddef.h>

#include "softmax.h"
#include "base/wide.h"

double ref_attention_scale(const struct ref_attention_shape *shape)
{
    return shape->scale != 0.0 ? shape->scale : 1.0 / sqrt((double)shape->head_dim);
}

int ref_attention_visible(const struct ref_attention_shape *shape, int i)
{
    if (!shape->causal) return shape->kv_len;
    int visible = i + shape->kv_len - shape->q_len + 1;
    return visible > 0 ? visible : 0;
}

/** Number of query row (b, h, i) among all query rows. */
static size_t q_row_index(const struct ref_attention_shape *shape, int b, int h, int i)
{
    return ((size_t)b * (size_t)shape->heads + (size_t)h) * (size_t)shape->q_len + (size_t)i;
}

/** Number of the first key/value row that query head h of sequence b reads. */
static size_t kv_row_index(const struct ref_attention_shape *shape, int b, int h)
{
    int kv_head = h / (shape->heads / shape->kv_heads);
    return ((size_t)b * (size_t)shape->kv_heads + (size_t)kv_head) * (size_t)shape->kv_len;
}

/**
 * sum_d q_d * k_d, and in *magnitude sum_d |q_d * k_d|. Several sums side by side, so that an addition need not
 * wait for the one before it.
 */
WIDE static double dot(const float *q_row, const float *k_row, int head_dim, double *magnitude)
{
    enum { SUMS = 8 };
    double sum[SUMS] = {0.0}, size[SUMS] = {0.0};
    int whole = head_dim - head_dim % SUMS;
    for (int d = 0; d < whole; d += SUMS)
        for (int s = 0; s < SUMS; s++) {
            double product = (double)q_row[d + s] * (double)k_row[d + s];
            sum[s] += product;
            size[s] += fabs(product);
        }
    for (int d = whole; d < head_dim; d++) {
        sum[0] += (double)q_row[d] * (double)k_row[d];
        size[0] += fabs((double)q_row[d] * (double)k_row[d]);
    }
    for (int s = 1; s < SUMS; s++) {
        sum[0] += sum[s];
        size[0] += size[s];
    }
    *magnitude = size[0];
    return sum[0];
}

static void clear(double *sum, double *size, size_t count)
{
    for (size_t d = 0; d < count; d++) sum[d] = 0.0;
    for (size_t d = 0; d < count && size != NULL; d++) size[d] = 0.0;
}

/** sum += weight * v, and size += |weight * v| unless it is NULL: a row of v at a time, as it lies in memory. */
WIDE static void add_row(double weight, const float *v, double *restrict sum, double *restrict size,
                         size_t count)
{
    for (size_t d = 0; d < count; d++) sum[d] += weight * (double)v[d];
    for (size_t d = 0; d < count && size != NULL; d++) size[d] += fabs(weight * (double)v[d]);
}

void ref_attention_scores(const struct ref_attention_shape *shape, const float *q, const float *k,
                          double *scores, double *magnitude)
{
    size_t head_dim = (size_t)shape->head_dim;
    double scale = ref_attention_scale(shape);
    for (int b = 0; b < shape->batch; b++)
        for (int h = 0; h < shape->heads; h++)
            for (int i = 0; i < shape->q_len; i++) {
                const float *q_row = q + q_row_index(shape, b, h, i) * head_dim;
                const float *k_bh = k + kv_row_index(shape, b, h) * head_dim;
                size_t score_row = q_row_index(shape, b, h, i) * (size_t)shape->kv_len;
                int visible = ref_attention_visible(shape, i);
                for (int j = 0; j < shape->kv_len; j++) {
                    double score = -INFINITY;
                    double size = 0.0;
                    if (j < visible)
                        score = scale * dot(q_row, k_bh + (size_t)j * head_dim, shape->head_dim, &size);
                    scores[score_row + (size_t)j] = score;
                    if (magnitude != NULL) magnitude[score_row + (size_t)j] = fabs(scale) * size;
                }
            }
}

void ref_attention_output(const struct ref_attention_shape *shape, const float *probs, const float *v,
                          double *out, double *magnitude)
{
    size_t head_dim = (size_t)shape->head_dim;
    for (int b = 0; b < shape->batch; b++)
        for (int h = 0; h < shape->heads; h++)
            for (int i = 0; i < shape->q_len; i++) {
                size_t row = q_row_index(shape, b, h, i);
                const float *p_row = probs + row * (size_t)shape->kv_len;
                const float *v_bh = v + kv_row_index(shape, b, h) * head_dim;
                int visible = ref_attention_visible(shape, i);
                double *out_row = out + row * head_dim;
                double *size_row = magnitude != NULL ? magnitude + row * head_dim : NULL;
                clear(out_row, size_row, head_dim);
                for (int j = 0; j < visible; j++)
                    add_row((double)p_row[j], v_bh + (size_t)j * head_dim, out_row, size_row, head_dim);
            }
}

void ref_attention_row(const struct ref_attention_shape *shape, int b, int h, int i, const float *q,
                       const float *k, const float *v, double *scratch, struct ref_attention_row *row)
{
    size_t head_dim = (size_t)shape->head_dim;
    const float *q_row = q + q_row_index(shape, b, h, i) * head_dim;
    const float *k_bh = k + kv_row_index(shape, b, h) * head_dim;
    const float *v_bh = v + kv_row_index(shape, b, h) * head_dim;
    double scale = ref_attention_scale(shape);
    int visible = ref_attention_visible(shape, i);

    row->score_magnitude = 0.0;
    for (int j = 0; j < visible; j++) {
        double size;
        scratch[j] = scale * dot(q_row, k_bh + (size_t)j * head_dim, shape->head_dim, &size);
        row->score_magnitude = fmax(row->score_magnitude, fabs(scale) * size);
        if (row->score_sizes != NULL) row->score_sizes[j] = fabs(scale) * size;
        if (row->scores != NULL) row->scores[j] = scratch[j];
    }
    row->lse = ref_softmax_row(scratch, visible);

    clear(row->out, row->magnitude, head_dim);
    for (int j = 0; j < visible; j++)
        add_row(scratch[j], v_bh + (size_t)j * head_dim, row->out, row->magnitude, head_dim);
}

void ref_attention(const struct ref_attention_shape *shape, const float *q, const float *k, const float *v,
                   double *scratch, const struct ref_attention_result *result)
{
    for (int b = 0; b < shape->batch; b++)
        for (int h = 0; h < shape->heads; h++)
            for (int i = 0; i < shape->q_len; i++) {
                size_t index = q_row_index(shape, b, h, i);
                size_t first = index * (size_t)shape->head_dim;
                struct ref_attention_row row = {.out = result->out + first};
                if (result->magnitude != NULL) row.magnitude = result->magnitude + first;
                ref_attention_row(shape, b, h, i, q, k, v, scratch, &row);
                if (result->lse != NULL) result->lse[index] = row.lse;
                if (result->score_magnitude != NULL) result->score_magnitude[index] = row.score_magnitude;
            }
}

/**
 * @file attention.c
 * @brief The oracle of attention: the definition, one query row at a time.
 */
#include "attention.h"

#include <math.h>
#include <stddef.h>

#include "softmax.h"

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

/** sum_d q_d * k_d, and in *magnitude sum_d |q_d * k_d|. */
static double dot(const float *q_row, const float *k_row, int head_dim, double *magnitude)
{
    double sum = 0.0;
    *magnitude = 0.0;
    for (int d = 0; d < head_dim; d++) {
        double product = (double)q_row[d] * (double)k_row[d];
        sum += product;
        *magnitude += fabs(product);
    }
    return sum;
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
                for (size_t d = 0; d < head_dim; d++) {
                    double sum = 0.0;
                    double size = 0.0;
                    for (int j = 0; j < visible; j++) {
                        double product = (double)p_row[j] * (double)v_bh[(size_t)j * head_dim + d];
                        sum += product;
                        size += fabs(product);
                    }
                    out[row * head_dim + d] = sum;
                    if (magnitude != NULL) magnitude[row * head_dim + d] = size;
                }
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
    }
    row->lse = ref_softmax_row(scratch, visible);

    for (size_t d = 0; d < head_dim; d++) {
        double sum = 0.0;
        double size = 0.0;
        for (int j = 0; j < visible; j++) {
            double value = (double)v_bh[(size_t)j * head_dim + d];
            sum += scratch[j] * value;
            size += scratch[j] * fabs(value);
        }
        row->out[d] = sum;
        if (row->magnitude != NULL) row->magnitude[d] = size;
    }
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

/**
 * @file paged_kv.c
 * @brief The oracle of decode attention over a paged K/V cache.
 */
#include "paged_kv.h"

#include <math.h>
#include <stddef.h>

#include "attention.h"
#include "softmax.h"
#include "base/wide.h"

void ref_paged_gather(const struct ref_paged_cache *cache, const float *pages, const int32_t *block_table,
                      int kv_head, int context_len, float *rows)
{
    size_t head_dim = (size_t)cache->head_dim;
    for (int t = 0; t < context_len; t++) {
        size_t page = (size_t)block_table[t / cache->block_size];
        size_t token = page * (size_t)cache->block_size + (size_t)(t % cache->block_size);
        const float *row = pages + (token * (size_t)cache->kv_heads + (size_t)kv_head) * head_dim;
        for (size_t d = 0; d < head_dim; d++) rows[(size_t)t * head_dim + d] = row[d];
    }
}

/** sum += weight * v, and size += |weight * v|. */
WIDE static void add_row(double weight, const float *v, double *restrict sum, double *restrict size,
                         size_t count)
{
    for (size_t d = 0; d < count; d++) {
        double product = weight * (double)v[d];
        sum[d] += product;
        size[d] += fabs(product);
    }
}

void ref_paged_attention_row(const struct ref_paged_query *query, struct ref_paged_result *result)
{
    size_t head_dim = (size_t)query->head_dim, length = (size_t)query->context_len;
    struct ref_attention_shape shape = {1, 1, 1, 1, query->context_len, query->head_dim, query->scale, 0};
    ref_attention_scores(&shape, query->q, query->k, result->scores, result->score_magnitude);
    for (size_t t = 0; t < length; t++) {
        double bias = query->slope * ((double)t - (double)(query->context_len - 1));
        result->scores[t] += bias;
        result->score_magnitude[t] += fabs(bias);
        result->probs[t] = result->scores[t];
    }
    result->lse = ref_softmax_row(result->probs, query->context_len);
    for (size_t d = 0; d < head_dim; d++) result->out[d] = result->magnitude[d] = 0.0;
    for (size_t t = 0; t < length; t++)
        add_row(result->probs[t], query->v + t * head_dim, result->out, result->magnitude, head_dim);
}

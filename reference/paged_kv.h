/**
 * @file paged_kv.h
 * @brief The oracle of decode attention over a paged K/V cache: gather, then attend.
 *
 * A cache is `[num_blocks, block_size, kv_heads, head_dim]`; token `t` of a sequence is row `t % block_size`
 * of page `block_table[t / block_size]`. Gathering makes of it the rows `[context_len, head_dim]` of one K/V
 * head; what follows is attention of one query over these, by the definition, in float64. Pages that the
 * table does not name for a token below context_len are never read, nor is the rest of the last page.
 */
#pragma once

#include <stdint.h>

/** @brief Extents of a cache in pages. */
struct ref_paged_cache {
    int block_size; /**< tokens per page, >= 1 */
    int kv_heads;   /**< key/value heads, >= 1 */
    int head_dim;   /**< elements a row, >= 1 */
};

/** @brief One query of one head, and its keys and values in order. */
struct ref_paged_query {
    int context_len; /**< keys, >= 0 */
    int head_dim;    /**< elements a row, >= 1 */
    double scale;    /**< factor on q . k; 0 stands for 1/sqrt(head_dim) */
    double slope; /**< ALiBi: slope * (t - (context_len - 1)) is added to the score of token t; 0 for none */
    const float *q; /**< [head_dim] */
    const float *k; /**< [context_len, head_dim], as ref_paged_gather() gives them */
    const float *v; /**< as k */
};

/** @brief The result for one query. The caller provides the arrays. */
struct ref_paged_result {
    double *scores;          /**< [context_len] bias included */
    double *score_magnitude; /**< [context_len] |scale| * sum_d |q_d * k_td| + |bias| */
    double *probs;           /**< [context_len] softmax of scores */
    double *out;             /**< [head_dim]; 0 if there are no keys */
    double *magnitude;       /**< [head_dim] sum over t of p_t * |v_td| */
    double lse;              /**< logsumexp of the scores, -infinity if there are none */
};

/**
 * @brief Gathers the rows of one K/V head of one sequence.
 * @param[in]  cache        extents
 * @param[in]  pages        host, f32 [num_blocks, block_size, kv_heads, head_dim]
 * @param[in]  block_table  host, the sequence's row of the table; its first ceil(context_len / block_size)
 * entries
 *                          are page numbers
 * @param[in]  kv_head      0 .. kv_heads - 1
 * @param[in]  context_len  >= 0
 * @param[out] rows         host, f32 [context_len, head_dim]
 * @see Kwon et al. 2023, section 4.1
 */
void ref_paged_gather(const struct ref_paged_cache *cache, const float *pages, const int32_t *block_table,
                      int kv_head, int context_len, float *rows);

/**
 * @brief Attention of one query over its gathered keys and values.
 * @param[in]     query   what to compute
 * @param[in,out] result  its arrays are filled, its lse set
 * @see Vaswani et al. 2017, section 3.2.1; Press et al. 2022, section 3 (ALiBi)
 */
void ref_paged_attention_row(const struct ref_paged_query *query, struct ref_paged_result *result);

/**
 * @file attention.h
 * @brief The oracle of attention, whole and part by part: O = softmax(scale * Q K^T + mask) V in float64.
 *
 * Inputs are float arrays that already hold what the storage type can hold: for f16 data round first, then
 * call. A product of two floats is exact in double, so only the sums round here.
 *
 * Layout is contiguous `[batch, heads, seq_len, head_dim]`. With fewer K/V heads than query heads, query head
 * `h` reads K/V head `h / (heads / kv_heads)`. The causal mask is aligned to the bottom right. Keys behind
 * the mask are never read: a NaN there cannot come out. A row that sees nothing gives 0 and lse -infinity.
 *
 * Beside each result stand the magnitudes that the error bound of the checker is made of: what the result
 * would be if nothing in it cancelled.
 */
#pragma once

/** @brief Extents and options of one attention problem. */
struct ref_attention_shape {
    int batch;    /**< sequences, >= 1 */
    int heads;    /**< query heads, a multiple of kv_heads */
    int kv_heads; /**< key/value heads, >= 1 */
    int q_len;    /**< query rows per head, >= 1 */
    int kv_len;   /**< key/value rows per head, >= 1 */
    int head_dim; /**< elements a row, >= 1 */
    double scale; /**< factor on every score; 0 stands for 1/sqrt(head_dim) */
    int causal;   /**< 0 or 1: query i sees keys up to i + kv_len - q_len */
};

/** @brief The result for one query row. The caller provides the two arrays. */
struct ref_attention_row {
    double *out;            /**< [head_dim] */
    double *magnitude;      /**< [head_dim] sum over visible j of p_j * |v_jd|; NULL if not wanted */
    double lse;             /**< logsumexp of the visible scores, -infinity if there are none */
    double score_magnitude; /**< largest |scale| * sum_d |q_d * k_jd| over visible j, 0 if there are none */
    double *score_sizes;    /**< [kv_len] the same for each visible j; NULL if not wanted */
    double *scores;         /**< [kv_len] of each visible j; NULL if not wanted */
};

/** @brief The result for a whole problem. The caller provides the arrays; all but out may be NULL. */
struct ref_attention_result {
    double *out;             /**< [batch, heads, q_len, head_dim] */
    double *magnitude;       /**< [batch, heads, q_len, head_dim], as in ref_attention_row */
    double *lse;             /**< [batch, heads, q_len] */
    double *score_magnitude; /**< [batch, heads, q_len], as in ref_attention_row */
};

/** @brief The factor to use: @c shape->scale, or 1/sqrt(head_dim) where that is 0. */
double ref_attention_scale(const struct ref_attention_shape *shape);

/** @brief How many keys query row @p i, 0 <= i < q_len, sees: keys 0 .. this - 1. Between 0 and kv_len. */
int ref_attention_visible(const struct ref_attention_shape *shape, int i);

/**
 * @brief Scores S = scale * Q K^T; -infinity where the mask hides the key.
 * @param[in]  shape      extents and options
 * @param[in]  q          host, f32 [batch, heads, q_len, head_dim]
 * @param[in]  k          host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[out] scores     host, f64 [batch, heads, q_len, kv_len]
 * @param[out] magnitude  host, f64 as scores: |scale| * sum_d |q_d * k_jd|, 0 behind the mask; may be NULL
 */
void ref_attention_scores(const struct ref_attention_shape *shape, const float *q, const float *k,
                          double *scores, double *magnitude);

/**
 * @brief Output O = P V from given probabilities. Only visible keys count, whatever @p probs holds elsewhere.
 * @param[in]  shape      extents and options; scale is not used
 * @param[in]  probs      host, f32 [batch, heads, q_len, kv_len]
 * @param[in]  v          host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[out] out        host, f64 [batch, heads, q_len, head_dim]
 * @param[out] magnitude  host, f64 as out: sum over visible j of |p_j * v_jd|; NULL if not wanted
 */
void ref_attention_output(const struct ref_attention_shape *shape, const float *probs, const float *v,
                          double *out, double *magnitude);

/**
 * @brief One query row, for checks that sample rows of a problem too large to compute whole.
 * @param[in]     shape    extents and options
 * @param[in]     b, h, i  sequence, query head and query row
 * @param[in]     q        host, f32 [batch, heads, q_len, head_dim]
 * @param[in]     k        host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[in]     v        host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[out]    scratch  host, f64 [kv_len]; holds the probabilities of the visible keys afterwards
 * @param[in,out] row      its arrays are filled, its lse and score_magnitude set
 */
void ref_attention_row(const struct ref_attention_shape *shape, int b, int h, int i, const float *q,
                       const float *k, const float *v, double *scratch, struct ref_attention_row *row);

/**
 * @brief Every row of a problem.
 * @param[in]  shape    extents and options
 * @param[in]  q        host, f32 [batch, heads, q_len, head_dim]
 * @param[in]  k        host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[in]  v        host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[out] scratch  host, f64 [kv_len]
 * @param[out] result   the arrays it points to are filled; out must not be NULL
 * @see Vaswani et al. 2017, section 3.2.1
 */
void ref_attention(const struct ref_attention_shape *shape, const float *q, const float *k, const float *v,
                   double *scratch, const struct ref_attention_result *result);

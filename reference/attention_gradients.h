/**
 * @file attention_gradients.h
 * @brief The oracle of attention's gradients in float64, computed from Q, K, V and dO alone: no saved output or logsumexp.
 *
 * Layout, grouped-query attention and the causal mask are those of attention.h. What the mask hides is never read. A query
 * that sees nothing has the gradient 0 and adds nothing.
 */
#pragma once

#include "attention.h"

/** @brief What one query row adds to the gradients. The caller provides the arrays. */
struct ref_backward_row {
    const double *copies; /**< [kv_len] how often each key is there; NULL: once */
    double *probs;        /**< [kv_len] P of each visible key, one of its copies */
    double *dprobs;       /**< [kv_len] dP = dO V^T */
    double *dscores;      /**< [kv_len] dS = P * (dP - D) */
    double *score_sizes;  /**< [kv_len] |scale| * sum_d |q_d * k_jd| */
    double *dprob_sizes;  /**< [kv_len] sum_d |do_d * v_jd| */
    double *out;          /**< [head_dim] the output of the forward pass */
    double d;             /**< D = sum_d do_d * out_d */
    double lse;           /**< logsumexp of the visible scores, -infinity if there are none */
};

/**
 * @brief One query row.
 * @param[in]     shape   extents and options
 * @param[in]     visible how many keys count: keys 0 ... visible - 1
 * @param[in]     q, dout host, f32 [head_dim]: the row; without dout (NULL) only probs, score_sizes, out and lse are made
 * @param[in]     k, v    host, f32 [kv_len, head_dim]: of its head
 * @param[in,out] row     its arrays are filled, its d and lse set
 */
void ref_attention_backward_row(const struct ref_attention_shape *shape, int visible, const float *q,
                                const float *dout, const float *k, const float *v,
                                struct ref_backward_row *row);

/**
 * @brief A whole problem.
 * @param[in]  shape         extents and options
 * @param[in]  q, dout       host, f32 [batch, heads, q_len, head_dim]
 * @param[in]  k, v          host, f32 [batch, kv_heads, kv_len, head_dim]
 * @param[out] scratch       host, f64 [5 * kv_len + head_dim]
 * @param[out] dq            host, f64 as q
 * @param[out] dk, dv        host, f64 as k
 * @see Dao et al. 2022, "FlashAttention", appendix B.2
 */
void ref_attention_backward(const struct ref_attention_shape *shape, const float *q, const float *k,
                            const float *v, const float *dout, double *scratch, double *dq, double *dk,
                            double *dv);

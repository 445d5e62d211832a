/**
 * @file attention_backward_args.h
 * @brief The arguments of attention's backward pass, and the checks that each of its entry points makes.
 *
 * Layout, grouped-query attention and the causal mask are those of attention_args.h. The forward pass has left O and the
 * logsumexp of every row; dO is the gradient of what follows. With P = exp(S - lse), S = scale * Q K^T, and
 * D = rowsum(dO * O):
 *
 *     dV = P^T dO      dS = P * (dO V^T - D)      dQ = scale * dS K      dK = scale * dS^T Q
 *
 * D is also rowsum(P * dO V^T), and a kernel may compute either: that of O carries the rounding of O to its storage type,
 * that of P the rounding of lse.
 *
 * dK and dV of a K/V head are sums over the query heads that read it. A query that sees no key (its lse is -infinity) has
 * the gradient 0 and adds nothing to any other. The mask says which queries these are: one that sees keys and whose lse is
 * -infinity all the same is held to the formulas, by which its P is infinite or NaN.
 *
 * That out and lse belong to q, k and v cannot be noticed: with others the result is what the formulas give. So they may be
 * those of a softmax that has more terms in its denominator, such as an attention sink; a row of P then sums to less than 1.
 *
 * A NaN or an infinity makes NaN or infinite what depends on it by the formulas. With a causal mask it may also reach
 * gradients that depend on it only by an element which the mask hides, in the query heads of the same K/V head and in that
 * head, never in others: a product of tiles multiplies such elements with 0.
 */
#ifndef WARPWISE_ATTENTION_BACKWARD_ARGS_H
#define WARPWISE_ATTENTION_BACKWARD_ARGS_H

#include "attention_args.h"

/** @brief Everything a backward kernel needs to know. All pointers are device pointers. */
struct attention_backward_args {
    int batch;              /**< sequences, >= 1 */
    int heads;              /**< query heads, a multiple of kv_heads */
    int kv_heads;           /**< key/value heads, >= 1 */
    int q_len;              /**< query rows per head, >= 1 */
    int kv_len;             /**< key/value rows per head, >= 1 */
    int head_dim;           /**< elements per row, >= 1 */
    float scale;            /**< factor on every score; 0 stands for 1/sqrt(head_dim) */
    int causal;             /**< 0 or 1: query i sees keys up to i + kv_len - q_len */
    int deterministic;      /**< 0 or 1: the same arguments give the same bits of dq every time */
    enum dtype dtype;       /**< storage type of all tensors but lse */
    const void *q;          /**< [batch, heads, q_len, head_dim] */
    const void *k;          /**< [batch, kv_heads, kv_len, head_dim] */
    const void *v;          /**< [batch, kv_heads, kv_len, head_dim] */
    const void *out;        /**< [batch, heads, q_len, head_dim] of the forward pass */
    const void *dout;       /**< [batch, heads, q_len, head_dim] gradient of out */
    const float *lse;       /**< [batch, heads, q_len] of the forward pass */
    void *dq;               /**< [batch, heads, q_len, head_dim], or NULL if not wanted */
    void *dk;               /**< [batch, kv_heads, kv_len, head_dim], or NULL if not wanted */
    void *dv;               /**< [batch, kv_heads, kv_len, head_dim], or NULL if not wanted */
    void *workspace;        /**< device scratch memory, 256-byte aligned; NULL if none is needed */
    size_t workspace_bytes; /**< size of the scratch memory; may be larger than needed */
};

/** @brief What the contract allows as workspace. */
enum {
    BACKWARD_ROW_TILE = 64,   /**< q_len counts rounded up to a multiple of this */
    BACKWARD_ROW_TERMS = 2,   /**< floats per row for D and the like */
    BACKWARD_MOST_SLICES = 32 /**< accumulators of dq, if deterministic; 1 otherwise */
};

/** @brief The part of the arguments that forward and backward have in common, as attention_args_check() takes it. */
static inline struct attention_args attention_forward_args(const struct attention_backward_args *args)
{
    struct attention_args forward = {args->batch,       args->heads,
                                     args->kv_heads,    args->q_len,
                                     args->kv_len,      args->head_dim,
                                     args->scale,       args->causal,
                                     args->dtype,       args->q,
                                     args->k,           args->v,
                                     (void *)args->out, (float *)args->lse,
                                     args->workspace,   args->workspace_bytes};
    return forward;
}

/** @brief 1 unless attention_args_check() refuses the extents; no pointer of @p args is looked at. */
static inline int attention_backward_extents_fit(const struct attention_backward_args *args)
{
    struct attention_args forward = attention_forward_args(args);
    forward.q = forward.k = forward.v = args;
    forward.out = &forward;
    forward.lse = NULL, forward.dtype = DTYPE_F32, forward.scale = 0.0f, forward.causal = 0;
    return attention_args_check(&forward, 1, 0) == KERNEL_OK;
}

/** @brief Query rows of all heads, each head's rounded up to whole tiles; 0 if the extents are refused. */
static inline size_t attention_backward_padded_rows(const struct attention_backward_args *args)
{
    if (!attention_backward_extents_fit(args)) return 0;
    size_t tiles = ((size_t)args->q_len + BACKWARD_ROW_TILE - 1) / BACKWARD_ROW_TILE;
    return (size_t)args->batch * (size_t)args->heads * tiles * BACKWARD_ROW_TILE;
}

/**
 * @brief Checks pointers and options, extents, storage type, alignment and workspace, in that order: of several faults the
 *        first decides.
 * @param args            may be NULL
 * @param alignment_bytes what all tensors but lse must be aligned to; lse to 4 bytes
 * @param workspace_bytes what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer where one is needed, dq, dk and dv all NULL, causal or
 *         deterministic not 0 or 1, scale not finite), and otherwise as attention_args_check()
 */
static inline enum kernel_status attention_backward_args_check(const struct attention_backward_args *args,
                                                               size_t alignment_bytes, size_t workspace_bytes)
{
    if (args == NULL || args->dout == NULL || args->lse == NULL) return KERNEL_INVALID_CONFIG;
    if (args->dq == NULL && args->dk == NULL && args->dv == NULL) return KERNEL_INVALID_CONFIG;
    if (args->deterministic != 0 && args->deterministic != 1) return KERNEL_INVALID_CONFIG;
    struct attention_args forward = attention_forward_args(args);
    enum kernel_status status = attention_args_check(&forward, alignment_bytes, 0);
    if (status != KERNEL_OK) return status;
    if (!is_aligned(args->dout, alignment_bytes) || !is_aligned(args->dq, alignment_bytes) ||
        !is_aligned(args->dk, alignment_bytes) || !is_aligned(args->dv, alignment_bytes))
        return KERNEL_ALIGNMENT_ERROR;
    return attention_args_check(&forward, alignment_bytes, workspace_bytes);
}

#endif

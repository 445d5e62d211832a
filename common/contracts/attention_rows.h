/**
 * @file attention_rows.h
 * @brief Rows of attention: how many keys a row sees, and the pair (m, l) of online softmax (lesson 03).
 */
#ifndef WARPWISE_ATTENTION_ROWS_H
#define WARPWISE_ATTENTION_ROWS_H

#include <cuda_runtime.h>

#include "attention_args.h"

/** @brief How many keys query @p query of a head sees. A causal mask is aligned to the bottom right. */
__device__ inline int keys_seen(const struct attention_args &args, int query)
{
    if (!args.causal) return args.kv_len;
    return max(args.kv_len - (args.q_len - 1 - query), 0);
}

/** @brief What is known of some scores: their maximum and their sum relative to it; (-infinity, 0) for none. */
struct softmax_pair {
    float m; /**< largest score */
    float l; /**< sum of exp(score - m) */
};

/** @brief What to subtract before exp: m, but 0 where nothing was seen, for -inf - -inf would be NaN. */
__device__ inline float shift_of(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/** @brief The pair of two sets of scores together. */
__device__ inline struct softmax_pair merge_pairs(struct softmax_pair a, struct softmax_pair b)
{
    struct softmax_pair both;
    both.m = fmaxf(a.m, b.m);
    float shift = shift_of(both.m);
    both.l = a.l * expf(a.m - shift) + b.l * expf(b.m - shift);
    return both;
}

/** @brief What turns a sum of exp(score - m) * v into an output; 0 for a row without keys. */
__device__ inline float factor_of(float l)
{
    return l == 0.0f ? 0.0f : 1.0f / l;
}

#endif

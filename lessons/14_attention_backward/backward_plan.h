/**
 * @file backward_plan.h
 * @brief Given in lesson 14: how the workspace is divided, and which blocks do what.
 */
#ifndef WARPWISE_BACKWARD_PLAN_H
#define WARPWISE_BACKWARD_PLAN_H

#include <cuda_runtime.h>

#include "attention_backward_args.h"
#include "kernel_launch.h"

enum {
    TILE_Q = BACKWARD_ROW_TILE, ///< rows of an accumulator tile; of f32, several tiles of queries
    WANTED_BLOCKS = 256,        ///< deterministic: slices are made until there are about so many blocks
    SLICE_KEYS = 128            ///< but each has at least so many keys
};

/** @brief What a query row needs of the forward pass. Rows past the end and rows that see nothing have {infinity, 0}. */
struct row_terms {
    float lse; /**< times log2(e), so that P = exp2(S * log2(e) - lse); exp2(-infinity) is 0 */
    float d;   /**< D, the sum of dO * O */
};

/** @brief The workspace, and how many blocks share a K/V head. */
struct backward_plan {
    struct row_terms *terms; /**< [batch * heads, q_tiles * TILE_Q] */
    /** [slices, batch * heads, q_tiles, TILE_Q * head_dim] dq / scale; unused without dq */
    float *accumulators;
    int q_tiles; /**< tiles of TILE_Q queries per head */
    int slices;  /**< 1 without deterministic */
    int steps;   /**< blocks per K/V head: block `first` has K/V tiles first, first + steps, ... */
};

/** @brief The factor on every score. */
inline float backward_scale(const struct attention_backward_args *args)
{
    return args->scale != 0.0f ? args->scale : 1.0f / sqrtf((float)args->head_dim);
}

/** @brief Accumulators of dq: with atomics one, otherwise one for each block of a K/V head. */
inline int count_slices(const struct attention_backward_args *args)
{
    if (!args->deterministic) return 1;
    int slices = divide_up(WANTED_BLOCKS, args->batch * args->kv_heads);
    int most = divide_up(args->kv_len, SLICE_KEYS);
    slices = slices < most ? slices : most;
    return slices < BACKWARD_MOST_SLICES ? slices : BACKWARD_MOST_SLICES;
}

/** @brief How the work is divided if a tile has @p tile_kv keys. */
inline struct backward_plan make_plan(const struct attention_backward_args *args, int tile_kv)
{
    struct backward_plan plan;
    plan.terms = (struct row_terms *)args->workspace;
    plan.accumulators = (float *)(plan.terms + attention_backward_padded_rows(args));
    plan.q_tiles = divide_up(args->q_len, TILE_Q);
    plan.slices = count_slices(args);
    plan.steps = args->deterministic ? plan.slices : divide_up(args->kv_len, tile_kv);
    return plan;
}

/** @brief How many keys query @p query sees. A causal mask is aligned to the bottom right. */
__device__ inline int keys_seen(const struct attention_backward_args &args, int query)
{
    if (!args.causal) return args.kv_len;
    return max(args.kv_len - (args.q_len - 1 - query), 0);
}

/** @brief The first query that sees key @p key. */
__device__ inline int first_query_that_sees(const struct attention_backward_args &args, int key)
{
    if (!args.causal) return 0;
    return max(key - (args.kv_len - args.q_len), 0);
}

/** @brief Adds @p x to an element of dq's accumulator: by an atomic where several blocks add to it; else the @p first visit overwrites. */
__device__ inline void accumulate(float *at, float x, int deterministic, int first)
{
    if (!deterministic)
        atomicAdd(at, x);
    else
        *at = first ? x : *at + x;
}

#endif

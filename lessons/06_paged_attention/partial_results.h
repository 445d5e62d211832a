/**
 * @file partial_results.h
 * @brief Given in lesson 06: partial results, those of some of the keys: in a warp's registers, in shared memory, in the workspace.
 */
#ifndef WARPWISE_PARTIAL_RESULTS_H
#define WARPWISE_PARTIAL_RESULTS_H

#include "attention_rows.h"
#include "lane_layout.h"
#include "paged_attention_args.h"

/** @brief The keys that a block sees, and the query heads it serves: those of one sequence and one K/V head. */
struct kv_split {
    int b;          /**< sequence */
    int kv_head;    /**< K/V head */
    int first_head; /**< first query head, of all heads */
    int heads;      /**< query heads, at most GROUP */
    int begin;      /**< first key */
    int end;        /**< one past the last key */
    int length;     /**< keys of the whole sequence */
};

/** @brief What a lane knows of the query heads that it works for. */
template <int GROUP> struct queries {
    float q[GROUP][VECTOR];                    /**< the columns of this lane */
    float scale;                               /**< of scores: times a query it may be beyond float */
    float slope[(GROUP - 1) / PASS_HEADS + 1]; /**< ALiBi, of this lane's head in each pass; 0 for none */
};

/**
 * @brief What was found in the keys seen so far. The rows of a warp see different keys: each has its own sums and
 * pairs, until merge_lane_groups(). In a lane group each lane holds VECTOR columns of the sums, and the score of one
 * (head, key) at a time, so it has one pair per pass: m is that of its head, l counts its own keys.
 */
template <int GROUP> struct partial {
    float sum[GROUP][VECTOR];                               /**< of exp(score - m) * v */
    struct softmax_pair pair[(GROUP - 1) / PASS_HEADS + 1]; /**< of the lane's head in each pass */
};

/** @brief What the warps of a block leave for each other. */
template <int HEAD_DIM, int GROUP> struct warp_partials {
    struct softmax_pair pair[WARPS][GROUP];        /**< of each head */
    alignas(16) float sum[WARPS][GROUP][HEAD_DIM]; /**< of exp(score - m) * v */
};

/** @brief Loads what this lane needs of the block's query heads; heads that the block does not have get zeros. */
template <int HEAD_DIM, int GROUP>
__device__ inline void load_queries(struct queries<GROUP> *query, const struct paged_attention_args &args,
                                    const struct kv_split &kv, float scale)
{
    using shape = struct layout<HEAD_DIM, GROUP>;
    int lane = (int)threadIdx.x % shape::LANES;
    size_t row = (size_t)kv.b * args.heads + kv.first_head;
    const __half *q_row = (const __half *)args.q + row * HEAD_DIM; // [kv.heads, HEAD_DIM]
    for (int g = 0; g < GROUP; g++) {
        uint4 halves = make_uint4(0, 0, 0, 0);
        if (g < kv.heads) halves = *(const uint4 *)(q_row + (size_t)g * HEAD_DIM + lane * VECTOR);
        to_floats(query->q[g], &halves);
    }
    query->scale = scale;
    for (int pass = 0; pass < shape::PASSES; pass++) {
        int g = pass * shape::HEADS + lane / shape::PER_HEAD;
        int biased = args.alibi_slopes != NULL && g < kv.heads;
        query->slope[pass] = biased ? args.alibi_slopes[kv.first_head + g] : 0.0f;
    }
}

/** @brief Partial sums in the workspace: [batch, heads, partitions, head_dim]. */
__host__ __device__ inline float *partial_sums(const struct paged_attention_args &args)
{
    return (float *)args.workspace;
}

/** @brief Partial pairs in the workspace, after the sums: [batch, heads, partitions]. */
__host__ __device__ inline struct softmax_pair *partial_pairs(const struct paged_attention_args &args,
                                                              int partitions)
{
    size_t results = (size_t)args.batch * args.heads * partitions;
    return (struct softmax_pair *)(partial_sums(args) + results * args.head_dim);
}

#endif

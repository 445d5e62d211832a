/**
 * @file query_row.h
 * @brief Given in lesson 11, for flash_1 and mha: where the query of a block lies, and the keys and values of its head.
 */
#ifndef WARPWISE_QUERY_ROW_H
#define WARPWISE_QUERY_ROW_H

#include <cuda_runtime.h>

#include "decode_args.h"

/** @brief What a block of flash_1 or mha works on: one query of one head, and the keys and values of its K/V head. */
template <typename T> struct query_row {
    const T *q;    /**< [head_dim] */
    const T *k;    /**< of token 0; tokens lie stride elements apart */
    const T *v;    /**< as k */
    T *out;        /**< [head_dim] */
    size_t stride; /**< elements from token to token */
    int head_dim;  /**< elements of the query, a key, a value */
    float scale;   /**< factor on q . k */
};

/** @brief Query head blockIdx.x, query blockIdx.y, sequence blockIdx.z. */
template <typename T>
__device__ inline struct query_row<T> find_row(const struct decode_args &args, float scale) {
    int kv_head = (int)blockIdx.x / (args.heads / args.kv_heads);
    size_t query = ((size_t)blockIdx.z * args.q_len + blockIdx.y) * args.heads + blockIdx.x;
    size_t cache = (size_t)blockIdx.z * args.max_len * args.kv_stride + (size_t)kv_head * args.head_dim;
    struct query_row<T> row;
    row.q = (const T *)args.q + query * args.head_dim;
    row.k = (const T *)args.k_cache + cache;
    row.v = (const T *)args.v_cache + cache;
    row.out = (T *)args.out + query * args.head_dim;
    row.stride = args.kv_stride;
    row.head_dim = args.head_dim;
    row.scale = scale;
    return row;
}

/** @brief Copies the query into shared memory. All threads of the block must call it; a barrier is included. */
template <typename T>
__device__ inline void load_query(T *q, const struct query_row<T> &row)
{
    for (int d = (int)threadIdx.x; d < row.head_dim; d += (int)blockDim.x) q[d] = row.q[d];
    __syncthreads(); // the whole query is there before anybody multiplies with it
}

/** @brief Scores become weights exp(score - shift); returns the sum of those of this thread. */
__device__ inline float weigh_keys(float *scores, int count, float shift)
{
    float sum = 0.0f;
    for (int key = (int)threadIdx.x; key < count; key += (int)blockDim.x) {
        float weight = expf(scores[key] - shift);
        scores[key] = weight;
        sum += weight;
    }
    return sum;
}

#endif

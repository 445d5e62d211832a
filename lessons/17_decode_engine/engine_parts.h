/**
 * @file engine_parts.h
 * @brief What lesson 17 gives: where a step's intermediate results lie, what a product and an attention are told, and how eight
 *        halves are loaded.
 */
#ifndef WARPWISE_ENGINE_PARTS_H
#define WARPWISE_ENGINE_PARTS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "engine_args.h"

/** @brief What kernels of a step hand to each other; all of it in the workspace. */
struct engine_buffers {
    float *x;         /**< [rows, hidden] */
    float *qkv;       /**< [rows, (heads + 2 kv_heads) * head_dim] as the product leaves them */
    __half *q;        /**< [rows, heads, head_dim] normalised and rotated */
    __half *attended; /**< [rows, heads, head_dim] */
    __half *gated;    /**< [rows, intermediate] silu(gate) * up */
    size_t bytes;     /**< of all of them */
};

/** @brief Takes @p bytes from @p memory, and moves on to the next multiple of 256. */
static inline void *take_bytes(void *memory, size_t *used, size_t bytes)
{
    void *taken = (char *)memory + *used;
    *used += (bytes + 255) / 256 * 256;
    return taken;
}

/** @brief Lays the buffers of max_rows rows out in @p memory, which may be NULL if only their size is wanted. */
static inline struct engine_buffers place_buffers(const struct engine_config *c, void *memory)
{
    const size_t rows = (size_t)c->max_rows, q_width = engine_q_width(c), kv_width = engine_kv_width(c);
    struct engine_buffers b = {};
    b.x = (float *)take_bytes(memory, &b.bytes, rows * (size_t)c->hidden * sizeof(float));
    b.qkv = (float *)take_bytes(memory, &b.bytes, rows * (q_width + 2 * kv_width) * sizeof(float));
    b.q = (__half *)take_bytes(memory, &b.bytes, rows * q_width * sizeof(__half));
    b.attended = (__half *)take_bytes(memory, &b.bytes, rows * q_width * sizeof(__half));
    b.gated = (__half *)take_bytes(memory, &b.bytes, rows * (size_t)c->intermediate * sizeof(__half));
    return b;
}

/** @brief What goes into a product, and what becomes of its sums. */
enum product_kind {
    TO_QKV,   /**< norm(x); sums are stored as floats */
    TO_STATE, /**< halves; sums are added to x */
    TO_GATED, /**< norm(x); of the sums of gate and up, silu(gate) * up is stored as a half */
    TO_LOGITS /**< norm(x) of the wanted rows; sums are stored as floats */
};

/** @brief A product of rows with a matrix of weights. */
struct product {
    const __half *weights; /**< [outputs, inputs]; of TO_GATED [2 * outputs, inputs] */
    const __half *gain;    /**< [inputs] of the norm; of TO_STATE NULL */
    const void *x;         /**< [.., inputs]: halves of TO_STATE, else floats */
    void *out;             /**< [rows, outputs]: halves of TO_GATED, else floats */
    const int *wanted;     /**< [rows] of TO_LOGITS: which rows of x; a negative one is nowhere. Else NULL */
    int inputs;            /**< elements of a row of x, a multiple of 32 */
    int outputs;           /**< elements of a row of out */
    int rows;              /**< of out */
    float epsilon;         /**< of the norm */
};

/** @brief Attention of a step, and the append before it: one layer. */
struct layer_attention {
    struct engine_config config; /**< sizes */
    const int *positions;        /**< of the batch */
    const int *requests;         /**< of the batch */
    const int *tables;           /**< of the batch */
    const float *qkv;            /**< what the product left */
    const __half *q_norm;        /**< [head_dim] */
    const __half *k_norm;        /**< [head_dim] */
    __half *q;                   /**< queries, normalised and rotated */
    __half *keys;                /**< [num_blocks, block_size, kv_heads, head_dim] of this layer */
    __half *values;              /**< the same */
    __half *attended;            /**< [rows, heads, head_dim] */
};

/** @brief Where position @p position of row @p row's request begins in the keys, or values, of a layer. */
__device__ inline size_t cache_place(const struct layer_attention &a, int row, int position)
{
    const struct engine_config &c = a.config;
    const int *table = a.tables + (size_t)a.requests[row] * (size_t)c.max_blocks;
    const size_t block = (size_t)table[position / c.block_size];
    return (block * (size_t)c.block_size + (size_t)(position % c.block_size)) *
           ((size_t)c.kv_heads * (size_t)c.head_dim);
}

/** @brief Eight halves, 16 bytes, as floats. */
__device__ inline void load_eight(float to[8], const __half *from)
{
    const uint4 bytes = *(const uint4 *)from;
    const __half2 *pair = (const __half2 *)&bytes;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 two = __half22float2(pair[i]);
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

/** @brief The kernel behind this one may start; it waits by itself before it reads what others wrote. */
__device__ inline void let_next_start(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

#endif

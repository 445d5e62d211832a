/**
 * @file engine_parts.h
 * @brief Given in lesson 17: sizes, the layout of the workspace, the arguments of a product and of attention, and a few loads and
 *        launch helpers.
 */
#ifndef WARPWISE_ENGINE_PARTS_H
#define WARPWISE_ENGINE_PARTS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "engine_args.h"
#include "kernel_launch.h"
#include "shared_address.h"

/** @brief What kernels of a step hand to each other; all of it in the workspace. */
struct engine_buffers {
    float *x;              /**< [rows, hidden] */
    float *qkv;            /**< [rows, (heads + 2 kv_heads) * head_dim] as the product leaves them */
    __half *q;             /**< [rows, heads, head_dim] normalised and rotated */
    __half *attended;      /**< [rows, heads, head_dim] */
    __half *gated;         /**< [rows, intermediate] silu(gate) * up */
    __half *normed;        /**< [rows, hidden] what a product of many rows multiplies */
    float *parts;          /**< [SPREAD_ROWS, heads, head_dim / 8 walkers, head_dim + 2] of attention */
    unsigned int *arrived; /**< [SPREAD_ROWS, heads] walkers that have written their part */
    size_t bytes;          /**< of all of them */
};

/** @brief Sizes of blocks, of a product's tiles and of attention's. */
enum {
    WARP = 32,              /**< lanes */
    WARPS = 8,              /**< of a block; a product has a slice of the inputs for each */
    THREADS = WARPS * WARP, /**< of a block */
    OUTPUTS = 16,           /**< rows of weights that a block multiplies at a time: A has so many rows */
    TILE = 8,               /**< rows of the batch in an instruction: B has so many columns */
    SPAN = 32,              /**< inputs that four lanes load at once */
    SLOTS = 12,             /**< spans of weights that a warp has under way for a single row of the batch */
    /** The same for a tile of rows, whose staged inputs and sums take more of the shared memory */
    TILE_SLOTS = 8,
    AHEAD = 3, /**< chunks of inputs that a warp has under way for a single row; for a tile of rows one */
    CHUNK = 4, /**< spans of inputs that a warp stages at once: a lane has four elements of each row */
    /** Halves of a staged row: CHUNK spans, and a pad that keeps rows out of each other's banks */
    STAGED = 160,
    BLOCKS_PER_SM = 2,      /**< of a product: more outputs are taken in turn */
    KEYS = 128,             /**< of a tile of attention */
    OF_WARP = KEYS / WARPS, /**< of them a warp's */
    BATCH = 16, /**< rows up to which a product has blocks for every TILE of them; more: launch_many() */
    WARPGROUP_ROWS = 64, /**< rows up to which products of many rows are not worth warpgroups */
    SPREAD_ROWS = 8,     /**< rows up to which the keys of a head are shared out to several blocks */
    FEW_ROWS = 2         /**< rows up to which launch_few() appends, too; of 8 with many keys it is slower */
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
    b.normed = (__half *)take_bytes(memory, &b.bytes, rows * (size_t)c->hidden * sizeof(__half));
    const size_t few = (size_t)c->heads * SPREAD_ROWS;
    b.parts = (float *)take_bytes(
        memory, &b.bytes, few * ((size_t)c->head_dim / 8) * ((size_t)c->head_dim + 2) * sizeof(float));
    b.arrived = (unsigned int *)take_bytes(memory, &b.bytes, few * sizeof(unsigned int));
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
    const __half *weights; /**< [outputs, inputs]; for TO_GATED [2 * outputs, inputs] */
    const __half *gain;    /**< [inputs] of the norm; NULL for TO_STATE */
    const void *x;         /**< [.., inputs]: halves for TO_STATE, else floats */
    void *out;             /**< [rows, outputs]: halves for TO_GATED, else floats */
    const int *wanted; /**< [rows] of TO_LOGITS: which rows of x; a negative one stands for none. Else NULL */
    int inputs;        /**< elements of a row of x, a multiple of 32 */
    int outputs;       /**< elements of a row of out */
    int rows;          /**< of out */
    float epsilon;     /**< of the norm */
    __half *normed;    /**< room for [rows, inputs], in launch_many(); NULL for TO_STATE */
    bool by_warpgroups = false; /**< the halves of many rows lie as in_span() says: set by launch_many() */
};

/** @brief The weights that a lane asks for next: 16 bytes of each of its two rows. */
struct ahead {
    const __half *low; /**< of row lane / 4 of the tile */
    const __half
        *high; /**< of row lane / 4 + 8; for TO_GATED of the row of up that belongs to low's of gate */
    int slot;  /**< where in shared memory they go */
    int span;  /**< which inputs they are for */
    int tile;  /**< of which outputs */
};

/** @brief A lane's inputs of a chunk: four elements of each row of x, floats, and their gains. */
template <int KIND> struct inputs {
    float4 x[TILE]; /**< rows */
    uint2 gain;     /**< four halves */
};
/** @brief The same for TO_STATE: halves, and no gains. */
template <> struct inputs<TO_STATE> {
    uint2 x[TILE]; /**< rows */
};

/** @brief Adds the squares of a lane's inputs, of ROWS rows. */
template <int KIND, int ROWS> __device__ inline void add_squares(float *sums, const struct inputs<KIND> &in)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const float4 x = in.x[i];
        sums[i] = fmaf(x.x, x.x, fmaf(x.y, x.y, fmaf(x.z, x.z, fmaf(x.w, x.w, sums[i]))));
    }
}

/** @brief What a lane has to know to rotate its pairs of elements (d, d + head_dim / 2): two at most. */
struct turn {
    float sine[2];      /**< of the pair's angle */
    float cosine[2];    /**< of the pair's angle */
    float low_gain[2];  /**< of the norm, for element d */
    float high_gain[2]; /**< for element d + head_dim / 2 */
};

/** @brief The row of x that row @p row of a product takes; -1 if there is none. */
template <int KIND> __device__ inline int row_of_x(const struct product &p, int row)
{
    if (row >= p.rows) return -1;
    return KIND == TO_LOGITS ? max(p.wanted[row], -1) : row;
}

/** @brief Attention of a step, and the append before it: one layer. */
struct layer_attention {
    struct engine_config config; /**< sizes */
    int rows;                    /**< of the batch */
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
    float *parts;                /**< of the buffers */
    unsigned int *arrived;       /**< of the buffers */
    bool by_warpgroups = false;  /**< attended is written as in_span() says: set by launch_prompt() */
};

/**
 * @brief Whether products of @p rows rows go to the warpgroups of engine_tensor.h. Then the halves that they take lie in memory in the order
 *        of in_span().
 */
static inline bool for_warpgroups(int rows)
{
    return rows > WARPGROUP_ROWS && device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
}

/**
 * @brief Where column @p column of a row of halves lies for a warpgroup. Of a span, an instruction takes 16 columns that follow each other in
 *        memory; that of product_kernel() takes 8 t + 4 i .. 8 t + 4 i + 3 of lane t, instruction i, two as k = 2 t, and two as 2 t + 8.
 */
__host__ __device__ inline int in_span(int column)
{
    return (column & ~31) | (column & 4) << 2 | (column & 2) << 2 | (column >> 2 & 6) | (column & 1);
}

/** @brief Where position @p position of row @p row's request lies in the cache, counted in positions. */
__device__ inline int cache_row(const struct layer_attention &a, int row, int position)
{
    const struct engine_config &c = a.config;
    const int *table = a.tables + (size_t)a.requests[row] * (size_t)c.max_blocks;
    return table[position / c.block_size] * c.block_size + position % c.block_size;
}

/** @brief Where it begins in the keys, or values, of a layer, counted in elements. */
__device__ inline size_t cache_place(const struct layer_attention &a, int row, int position)
{
    return (size_t)cache_row(a, row, position) * ((size_t)a.config.kv_heads * (size_t)a.config.head_dim);
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

/** @brief Four halves, 8 bytes, as floats. */
__device__ inline void load_four(float to[4], const __half *from)
{
    const uint2 bytes = *(const uint2 *)from;
    const __half2 *pair = (const __half2 *)&bytes;
    const float2 low = __half22float2(pair[0]), high = __half22float2(pair[1]);
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

/**
 * @brief Starts to copy 16 bytes of device memory, both addresses multiples of 16, to shared memory: `__pipeline_memcpy_async` with
 *        the hint that nobody will need them again, so that they leave the L2 cache before what is read in every step.
 */
__device__ inline void copy_once(void *to, const void *from)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "l"(policy)
                 : "memory");
#else
    __trap();
#endif
}

/**
 * @brief True if a block can have the shared memory of product_kernel() for a single row: its slots, and up to 4 KB beside them. GPUs
 *        of sm_86 and sm_89 have 99 KB for a block, too few; there one row takes the kernel for a tile of rows, which gives the same bits.
 */
static inline bool single_row_fits(void)
{
    const int needed = WARPS * SLOTS * 2 * WARP * (int)sizeof(uint4) + 4096;
    return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= needed;
}

/** @brief An SM with a block of @p kernel keeps as much shared memory as it can have, so that a product finds room beside it. */
template <typename... Params> static inline bool leave_room(void (*kernel)(Params...))
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared) == cudaSuccess;
}

#endif

/**
 * @file decode_kernels.h
 * @brief The small kernels of a decode step, given. For kernel files only.
 *
 * Each launcher puts its kernels into @p stream for rows 0 .. rows - 1 of the buffers. None of them waits,
 * and none reads what differs from step to step anywhere but in device memory, when it runs. A row is
 * computed the same way whatever other rows there are: its bits do not depend on the size of the batch.
 *
 * At one row a kernel is little more than one load from memory, which takes longer than anything it computes. So
 * kernels begin before the one in front is over (programmatic dependent launch, from sm_90 on):
 *
 *     kernel n      | load weights | wait | x ... | store |
 *     kernel n + 1        | load weights |  wait  . . . . | x ... | store |
 *
 * - At its beginning each kernel says that the next may start: decode_start_next().
 * - Before decode_wait() it reads only what no kernel of a step writes: weights, gains, positions, block table.
 *   x, q, k, v and the cache come after it. decode_wait() returns when the kernel in front is over and
 *   what it wrote can be read; that one had waited in the same way, so all before it are over, too.
 * - decode_embed() is launched as usual, when all that is in front of it in the stream is over: the copies of a
 *   step's tokens, positions and block table are, before any kernel of the step begins.
 *
 * @see NVIDIA, CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization"
 */
#ifndef WARPWISE_DECODE_KERNELS_H
#define WARPWISE_DECODE_KERNELS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "decode_model.h"

enum {
    DECODE_WARP = 32,
    DECODE_THREADS = 128, /* of a block; four warps, four outputs of a projection */
    DECODE_BLOCKS = 4,    /* of a projection that fit on a multiprocessor: 128 registers a thread */
    DECODE_VECTOR = 8,    /* halves in the 16 bytes that a lane loads at once */
    DECODE_LOADS = 4,     /* such loads that a lane has under way */
    DECODE_SPAN = DECODE_WARP * DECODE_VECTOR,       /* inputs that a warp takes with one load a lane */
    DECODE_ROWS = 4,                                 /* rows that share a visit of the weights */
    DECODE_LANE_DIMS = 4,                            /* head_dim / 32 at most */
    DECODE_KEY_WARPS = DECODE_THREADS / DECODE_WARP, /* that share the keys of a row and head at most */
    DECODE_KEYS = 4                                  /* of a group of lanes that are under way at once */
};
#define DECODE_EPSILON 1e-5f      /**< added to the mean square of a state */
#define DECODE_ROPE_BASE 10000.0f /**< of the angles that queries and keys are turned by */

/** @brief What a launch just made of itself. */
static inline enum kernel_status decode_launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* ---- one kernel after the other, and a little earlier -------------------------------------------------- */

/** @brief The kernel behind this one may start, as soon as all blocks have called this. It sees nothing of them yet. */
static __device__ __forceinline__ void decode_start_next(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/** @brief Waits for the kernel in front: from here on everything may be read and written. */
static __device__ __forceinline__ void decode_wait(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/** @brief x = the embedding of the row's token. */
static __global__ void decode_embed_kernel(const int *tokens,       // [rows]
                                           const __half *embedding, // [vocab, hidden]
                                           float *x,                // [rows, hidden]
                                           int hidden)
{
    decode_start_next();
    size_t row = blockIdx.y;
    int i = (int)(blockIdx.x * DECODE_THREADS + threadIdx.x);
    if (i >= hidden) return;
    x[row * (size_t)hidden + i] = __half2float(embedding[(size_t)tokens[row] * (size_t)hidden + i]);
}

/**
 * @brief Whether the code that this device runs waits: a kernel that does not must not start early. That is so if it
 * was compiled for sm_90 or more, whatever the device. Asks once.
 */
static inline int decode_waits(void)
{
    static int answer; /* 0: not asked */
    if (answer == 0) {
        struct cudaFuncAttributes embed;
        cudaError_t error = cudaFuncGetAttributes(&embed, decode_embed_kernel);
        answer = error == cudaSuccess && embed.ptxVersion >= 90 ? 1 : -1;
    }
    return answer > 0;
}

/** @brief What a launch is told; a caller's variable, since the configuration points to the attribute. */
struct decode_launch {
    cudaLaunchConfig_t config;
    cudaLaunchAttribute early;
};

/** @brief Fills in @p launch: a kernel that may start before the one in front is over, where it then waits. */
static inline const cudaLaunchConfig_t *decode_launch_early(struct decode_launch *launch, dim3 grid,
                                                            int threads, cudaStream_t stream)
{
    *launch = {};
    launch->early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    launch->early.val.programmaticStreamSerializationAllowed = 1;
    launch->config.gridDim = grid;
    launch->config.blockDim = dim3((unsigned)threads);
    launch->config.stream = stream;
    launch->config.attrs = &launch->early;
    launch->config.numAttrs = decode_waits() ? 1 : 0;
    return &launch->config;
}

/* ---- projections --------------------------------------------------------------------------------------- */

/**
 * @brief What a warp works out of a row for two outputs: sums of weight * gain * x, and, for the norm, of x^2. The norm
 * divides all of x by the same number, so the sum can be divided by it as well, afterwards: a norm costs no kernel.
 */
struct decode_sums {
    float dot[2][DECODE_ROWS];  /**< sum of weight * gain * x, of each output and row */
    float squares[DECODE_ROWS]; /**< sum of x^2 */
};

/** @brief The weights of two outputs. They share x and the gain, whose registers cost more than the weights'. */
struct decode_pair {
    const __half *of[2]; /**< [inputs] each */
};

/** @brief Eight halves as floats. */
static __device__ inline void decode_to_floats(float *to, uint4 halves)
{
    const __half2 *pair = (const __half2 *)&halves;
    for (int i = 0; i < DECODE_VECTOR / 2; i++) {
        float2 two = __half22float2(pair[i]);
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

/** @brief Weights and gains of DECODE_LOADS visits, on their way. */
struct decode_ready {
    uint4 weights[2][DECODE_LOADS], gain[DECODE_LOADS];
};

/** @brief Asks for this lane's weights and gains from input @p first on. */
static __device__ __forceinline__ void decode_fetch(struct decode_ready *ready, struct decode_pair pair,
                                                    const __half *gain, int first, int inputs)
{
    const uint4 none = make_uint4(0, 0, 0, 0);
    const uint4 ones = make_uint4(0x3c003c00u, 0x3c003c00u, 0x3c003c00u, 0x3c003c00u);
#pragma unroll
    for (int i = 0; i < DECODE_LOADS; i++) {
        int at = first + i * DECODE_SPAN;
        ready->weights[0][i] = at < inputs ? *(const uint4 *)(pair.of[0] + at) : none;
        ready->weights[1][i] = at < inputs ? *(const uint4 *)(pair.of[1] + at) : none;
        ready->gain[i] = at < inputs && gain != NULL ? *(const uint4 *)(gain + at) : ones;
    }
}

/** @brief Sum of four products. Spelled out, so that it is rounded in the same way wherever it is compiled into. */
static __device__ __forceinline__ float decode_dot(const float *w, float4 x)
{
    return fmaf(w[3], x.w, fmaf(w[2], x.z, fmaf(w[1], x.y, w[0] * x.x)));
}

/** @brief Adds eight inputs of row @p r, each times its gain and its weights. */
static __device__ __forceinline__ void decode_add_eight(struct decode_sums *sums, int r,
                                                        const float (*w)[DECODE_VECTOR], // [2]
                                                        const float *g, float4 low, float4 high)
{
    const float l[4] = {low.x, low.y, low.z, low.w}, h[4] = {high.x, high.y, high.z, high.w};
    sums->squares[r] += decode_dot(l, low) + decode_dot(h, high);
    low = make_float4(g[0] * low.x, g[1] * low.y, g[2] * low.z, g[3] * low.w);
    high = make_float4(g[4] * high.x, g[5] * high.y, g[6] * high.z, g[7] * high.w);
    sums->dot[0][r] += decode_dot(w[0], low) + decode_dot(w[0] + 4, high);
    sums->dot[1][r] += decode_dot(w[1], low) + decode_dot(w[1] + 4, high);
}

/**
 * @brief Adds the inputs from @p first on of every row. Of a single row one half of each eight is asked for before any
 * is used; the other half lies in the same sector, so it will be near when it is needed.
 */
template <bool ONE_ROW>
static __device__ __forceinline__ void decode_add(struct decode_sums *sums, const struct decode_ready *ready,
                                                  const float *x, // [rows, inputs]
                                                  int first, int inputs, int rows)
{
    float4 low[DECODE_LOADS];
#pragma unroll
    for (int i = 0; ONE_ROW && i < DECODE_LOADS; i++) {
        int at = first + i * DECODE_SPAN;
        low[i] = *(const float4 *)(x + (at < inputs ? at : first));
    }
#pragma unroll
    for (int i = 0; i < DECODE_LOADS; i++) {
        float w[2][DECODE_VECTOR], g[DECODE_VECTOR];
        int at = first + i * DECODE_SPAN;
        if (at >= inputs) continue;
        decode_to_floats(w[0], ready->weights[0][i]);
        decode_to_floats(w[1], ready->weights[1][i]);
        decode_to_floats(g, ready->gain[i]);
        if (ONE_ROW) decode_add_eight(sums, 0, w, g, low[i], *(const float4 *)(x + at + 4));
#pragma unroll
        for (int r = 0; !ONE_ROW && r < DECODE_ROWS; r++) {
            if (r >= rows) continue; // the same for all lanes, and the same work for a row
            const float4 *from = (const float4 *)(x + (size_t)r * (size_t)inputs + at);
            decode_add_eight(sums, r, w, g, from[0], from[1]);
        }
    }
}

/** @brief This lane's part of the sums, 16 bytes of weights at a time. The first of them are @p ready. */
static __device__ __forceinline__ void decode_wide_sums(struct decode_sums *sums, struct decode_ready *ready,
                                                        struct decode_pair pair,
                                                        const __half *gain, // [inputs], or NULL
                                                        const float *x,     // [rows, inputs]
                                                        int inputs, int rows)
{
    const int stride = DECODE_LOADS * DECODE_SPAN;
    for (int first = (int)threadIdx.x % DECODE_WARP * DECODE_VECTOR; first < inputs; first += stride) {
        if (rows == 1)
            decode_add<true>(sums, ready, x, first, inputs, rows);
        else
            decode_add<false>(sums, ready, x, first, inputs, rows);
        if (first + stride < inputs) decode_fetch(ready, pair, gain, first + stride, inputs);
    }
}

/** @brief The same for sizes and places that 16 bytes do not fit. */
static __device__ inline void decode_narrow_sums(struct decode_sums *sums, struct decode_pair pair,
                                                 const __half *gain, // [inputs], or NULL
                                                 const float *x,     // [rows, inputs]
                                                 int inputs, int rows)
{
    for (int i = (int)threadIdx.x % DECODE_WARP; i < inputs; i += DECODE_WARP) {
        float w[2] = {__half2float(pair.of[0][i]), __half2float(pair.of[1][i])};
        float g = gain == NULL ? 1.0f : __half2float(gain[i]);
#pragma unroll
        for (int r = 0; r < DECODE_ROWS; r++) {
            if (r >= rows) continue;
            float value = x[(size_t)r * (size_t)inputs + (size_t)i];
            sums->squares[r] = fmaf(value, value, sums->squares[r]);
            for (int k = 0; k < 2; k++) sums->dot[k][r] = fmaf(w[k], g * value, sums->dot[k][r]);
        }
    }
}

/** @brief Both projections of row @p r, in every lane: normalized if there is a gain. All lanes must call it. */
static __device__ __forceinline__ float2 decode_finish(const struct decode_sums *sums, int r,
                                                       const __half *gain, int inputs)
{
    float a = sums->dot[0][r], b = sums->dot[1][r], squares = sums->squares[r];
#pragma unroll
    for (int distance = DECODE_WARP / 2; distance > 0; distance /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, distance);
        b += __shfl_xor_sync(0xffffffffu, b, distance);
        squares += __shfl_xor_sync(0xffffffffu, squares, distance);
    }
    float norm = gain == NULL ? 1.0f : rsqrtf(squares / (float)inputs + DECODE_EPSILON);
    return make_float2(a * norm, b * norm);
}

/** @brief A product with a weight matrix, of all rows. */
struct decode_projection {
    const __half *weights; /**< [outputs, inputs] */
    const __half *gain;    /**< [inputs] of the norm in front of it; NULL: none */
    const float *x;        /**< [rows, inputs] */
    float *out;            /**< [rows, outputs] */
    int inputs;            /**< elements of a row of x */
    int outputs; /**< elements of a row of out; of the gate's weights there are twice as many rows */
    int rows;    /**< rows of the batch */
    int add;     /**< 1: out += ... */
};

/** @brief Whether every row of weights, the gain and every row of x can be read 16 bytes at a time. */
static __device__ inline bool decode_is_wide(const struct decode_projection &p)
{
    return p.inputs % DECODE_VECTOR == 0 &&
           ((size_t)p.weights | (size_t)p.gain | (size_t)p.x) % sizeof(uint4) == 0;
}

/** @brief out = norm(x) W^T, or out += x W^T. A warp for each two outputs next to each other, of DECODE_ROWS rows. */
static __global__ void __launch_bounds__(DECODE_THREADS, DECODE_BLOCKS)
    decode_project_kernel(struct decode_projection p)
{
    decode_start_next();
    int output = 2 * (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * DECODE_ROWS, rows = min(p.rows - first_row, (int)DECODE_ROWS);
    int lane = (int)threadIdx.x % DECODE_WARP, last = p.outputs - 1;
    if (output > last) return; // whole warps
    const __half *weights = p.weights + (size_t)output * (size_t)p.inputs;
    struct decode_pair pair = {{weights, output < last ? weights + p.inputs : weights}};
    const float *x = p.x + (size_t)first_row * (size_t)p.inputs;
    float *out = p.out + (size_t)first_row * (size_t)p.outputs + output + lane;
    const bool wide = decode_is_wide(p),
               writes = lane < 2 && output + lane <= last; // a lane for each of the two
    struct decode_sums sums = {};
    struct decode_ready ready;
    if (wide) decode_fetch(&ready, pair, p.gain, lane * DECODE_VECTOR, p.inputs);
    decode_wait();                      // x and out belong to the kernels in front
    float before[DECODE_ROWS] = {0.0f}; // asked for together with x
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++)
        if (p.add && writes && r < rows) before[r] = out[(size_t)r * (size_t)p.outputs];
    if (wide)
        decode_wide_sums(&sums, &ready, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (r >= rows) continue;
        float2 both = decode_finish(&sums, r, p.gain, p.inputs);
        if (writes) out[(size_t)r * (size_t)p.outputs] = before[r] + (lane == 0 ? both.x : both.y);
    }
}

/** @brief out = silu(gate) * up, where gate and up are the two halves of norm(x) W^T. A warp for each pair of outputs. */
static __global__ void __launch_bounds__(DECODE_THREADS, DECODE_BLOCKS)
    decode_gate_kernel(struct decode_projection p)
{
    decode_start_next();
    int output = (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * DECODE_ROWS, rows = min(p.rows - first_row, (int)DECODE_ROWS);
    if (output >= p.outputs) return; // whole warps
    const __half *weights = p.weights + (size_t)output * (size_t)p.inputs;
    struct decode_pair pair = {{weights, weights + (size_t)p.outputs * (size_t)p.inputs}};
    const float *x = p.x + (size_t)first_row * (size_t)p.inputs;
    struct decode_sums sums = {};
    struct decode_ready ready;
    const bool wide = decode_is_wide(p);
    if (wide) decode_fetch(&ready, pair, p.gain, (int)threadIdx.x % DECODE_WARP * DECODE_VECTOR, p.inputs);
    decode_wait(); // x belongs to the kernel in front
    if (wide)
        decode_wide_sums(&sums, &ready, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (r >= rows) continue;
        float2 gate_up = decode_finish(&sums, r, p.gain, p.inputs);
        if (threadIdx.x % DECODE_WARP == 0)
            p.out[(size_t)(first_row + r) * (size_t)p.outputs + output] =
                gate_up.x / (1.0f + expf(-gate_up.x)) * gate_up.y;
    }
}

/** @brief The blocks for @p warps warps a row. */
static inline dim3 decode_projection_grid(const struct decode_projection *p, int warps)
{
    int of_block = DECODE_THREADS / DECODE_WARP;
    return dim3((unsigned)((warps + of_block - 1) / of_block),
                ((unsigned)p->rows + DECODE_ROWS - 1) / DECODE_ROWS);
}

/** @brief out = norm(x) W^T, or out += x W^T, for every row. One launch. */
static inline void decode_project(const struct decode_projection *p, cudaStream_t stream)
{
    struct decode_launch launch;
    dim3 grid = decode_projection_grid(p, (p->outputs + 1) / 2);
    cudaLaunchKernelEx(decode_launch_early(&launch, grid, DECODE_THREADS, stream), decode_project_kernel, *p);
}

/** @brief out = silu(gate) * up, for every row. One launch. */
static inline void decode_gate(const struct decode_projection *p, cudaStream_t stream)
{
    struct decode_launch launch;
    dim3 grid = decode_projection_grid(p, p->outputs);
    cudaLaunchKernelEx(decode_launch_early(&launch, grid, DECODE_THREADS, stream), decode_gate_kernel, *p);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

/** Where the key of @p position of row @p row begins in the keys of one layer: [.., kv_heads, head_dim]. */
static __device__ size_t decode_cache_offset(const struct decode_config &c, const int *block_table,
                                             size_t row, int position)
{
    int page = block_table[row * (size_t)c.max_blocks + (size_t)(position / c.block_size)];
    return ((size_t)page * (size_t)c.block_size + (size_t)(position % c.block_size)) *
           (size_t)(c.kv_heads * c.head_dim);
}

/**
 * @brief Turns q and k by an angle that grows with the position; appends k and v to the cache. A warp for every row and
 * head of q and k.
 */
static __global__ void decode_rope_append_kernel(struct decode_config c, const int *positions, // [rows]
                                                 const int *block_table, // [rows, max_blocks]
                                                 float *qkv,             // [rows, qkv_width]
                                                 __half *keys,           // [num_blocks, block_size, ...]
                                                 __half *values)         // the same
{
    decode_start_next();
    size_t row = blockIdx.y, width = (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim);
    int head = (int)blockIdx.x, half_dim = c.head_dim / 2, position = positions[row];
    float *at = qkv + row * width + (size_t)(head * c.head_dim); // [head_dim], of q or, behind all of q, of k
    const float *value = at + c.kv_heads * c.head_dim;           // [head_dim], if this is a head of k
    float cosine[DECODE_LANE_DIMS / 2], sine[DECODE_LANE_DIMS / 2]; // of pair lane, lane + 32
    size_t place = 0;
    if (head >= c.heads)
        place = decode_cache_offset(c, block_table, row, position) + (size_t)((head - c.heads) * c.head_dim);
#pragma unroll
    for (int i = 0; i < DECODE_LANE_DIMS / 2; i++) {
        int d = (int)threadIdx.x + i * DECODE_WARP;
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim);
        cosine[i] = cosf(angle);
        sine[i] = sinf(angle);
    }
    decode_wait(); // q, k and v belong to the kernel in front
#pragma unroll
    for (int i = 0; i < DECODE_LANE_DIMS / 2; i++) {
        int d = (int)threadIdx.x + i * DECODE_WARP;
        if (d >= half_dim) continue;
        float low = at[d], high = at[d + half_dim];
        float turned_low = low * cosine[i] - high * sine[i], turned_high = high * cosine[i] + low * sine[i];
        at[d] = turned_low;
        at[d + half_dim] = turned_high;
        if (head < c.heads) continue;
        keys[place + (size_t)d] = __float2half(turned_low);
        keys[place + (size_t)(d + half_dim)] = __float2half(turned_high);
        values[place + (size_t)d] = __float2half(value[d]);
        values[place + (size_t)(d + half_dim)] = __float2half(value[d + half_dim]);
    }
}

/** @brief What a group of lanes has found in its keys: lesson 03's (m, l), and its eight elements of their weighted sum. */
struct decode_found {
    float m, l, sum[DECODE_VECTOR];
};

/** @brief The next DECODE_KEYS keys and values of a group: eight elements of each, zeros behind the last key. */
struct decode_keys {
    uint4 key[DECODE_KEYS], value[DECODE_KEYS];
};

/** @brief m, or 0 where nothing has been found yet: infinities must not be subtracted from each other. */
static __device__ __forceinline__ float decode_reference(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/** @brief Adds keys. @p q: this lane's eight elements; @p lanes of a group; @p there: how many of the keys there are. */
static __device__ __forceinline__ void decode_add_keys(struct decode_found *found,
                                                       const struct decode_keys *next, const float *q,
                                                       float scale, int lanes, int there)
{
    float score[DECODE_KEYS], part[DECODE_VECTOR], m = found->m;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        float dot = 0.0f;
        decode_to_floats(part, next->key[u]);
        for (int i = 0; i < DECODE_VECTOR; i++) dot = fmaf(q[i], part[i], dot);
        for (int distance = lanes / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        score[u] = u < there ? dot * scale : -INFINITY;
        m = fmaxf(m, score[u]);
    }
    float correction = expf(found->m - decode_reference(m));
    found->l *= correction;
    for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] *= correction;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        float weight = expf(score[u] - decode_reference(m));
        decode_to_floats(part, next->value[u]);
        found->l += weight;
        for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] = fmaf(weight, part[i], found->sum[i]);
    }
    found->m = m;
}

/** @brief Merges what the groups of a warp have found, into the first of them, by lesson 03's rule. */
static __device__ __forceinline__ void decode_merge_groups(struct decode_found *found, int lanes)
{
    for (int distance = lanes; distance < DECODE_WARP; distance *= 2) {
        float other_m = __shfl_xor_sync(0xffffffffu, found->m, distance);
        float m = fmaxf(found->m, other_m), reference = decode_reference(m);
        float mine = expf(found->m - reference), others = expf(other_m - reference);
        found->m = m;
        found->l = mine * found->l + others * __shfl_xor_sync(0xffffffffu, found->l, distance);
#pragma unroll
        for (int i = 0; i < DECODE_VECTOR; i++)
            found->sum[i] =
                mine * found->sum[i] + others * __shfl_xor_sync(0xffffffffu, found->sum[i], distance);
    }
}

/** @brief The keys and values of one (row, head), and how its threads share them. */
struct decode_context {
    const __half *keys, *values; /**< [num_blocks, block_size, kv_heads, head_dim], from its kv head on */
    size_t row;
    int length; /**< keys that the row sees */
    int lanes;  /**< of a group: a power of two, eight elements each */
    int part;   /**< this lane's eight elements, in eights */
    int group;  /**< of this lane, in the block */
    int groups; /**< of the block */
};

/** @brief Where the keys of this lane's group from @p first on begin, DECODE_KEYS of them, `groups` apart. */
static __device__ __forceinline__ void decode_places(size_t *places, const struct decode_config &c,
                                                     const struct decode_context &k, const int *block_table,
                                                     int first)
{
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        int position = first + u * k.groups;
        if (position < k.length)
            places[u] =
                decode_cache_offset(c, block_table, k.row, position) + (size_t)(k.part * DECODE_VECTOR);
    }
}

/** @brief This group's keys: group, group + groups, ...; DECODE_KEYS of them, and their values, are asked for at once. */
static __device__ __forceinline__ void decode_find(struct decode_found *found, const struct decode_config &c,
                                                   const struct decode_context &k, const int *block_table,
                                                   const float *q) // [head_dim]
{
    const uint4 none = make_uint4(0, 0, 0, 0);
    const bool busy = k.part * DECODE_VECTOR < c.head_dim; // of head_dim 96 a group has lanes to spare
    size_t places[DECODE_KEYS] = {0};
    float mine[DECODE_VECTOR] = {0.0f};
    decode_places(places, c, k, block_table, k.group);
    decode_wait(); // q and the newest key and value belong to the kernel in front
    if (busy)
        for (int i = 0; i < DECODE_VECTOR; i++) mine[i] = q[k.part * DECODE_VECTOR + i];
    int first_of_warp = k.group - k.group % (DECODE_WARP / k.lanes);
    for (int first = k.group; first_of_warp < k.length; first += DECODE_KEYS * k.groups) {
        struct decode_keys next;
#pragma unroll
        for (int u = 0; u < DECODE_KEYS; u++) {
            bool there = busy && first + u * k.groups < k.length;
            next.key[u] = there ? *(const uint4 *)(k.keys + places[u]) : none;
            next.value[u] = there ? *(const uint4 *)(k.values + places[u]) : none;
        }
        int there = (k.length - first + k.groups - 1) / k.groups; // at most 0 behind the last
        first_of_warp += DECODE_KEYS * k.groups;
        decode_places(places, c, k, block_table, first + DECODE_KEYS * k.groups);
        decode_add_keys(found, &next, mine, rsqrtf((float)c.head_dim), k.lanes, first < k.length ? there : 0);
    }
}

/**
 * @brief A block for every (head, row). A group of lanes takes a key, eight elements a lane, so that a warp reads whole
 * lines; all groups of the block share the keys. What they found is merged: in the warp, then warp by warp.
 */
static __global__ void decode_attention_kernel(struct decode_config c, const int *positions, // [rows]
                                               const int *block_table, // [rows, max_blocks]
                                               const float *qkv,       // [rows, qkv_width]
                                               const __half *keys,     // [num_blocks, block_size, ...]
                                               const __half *values,   // the same
                                               float *out)             // [rows, heads, head_dim]
{
    __shared__ float m_of[DECODE_KEY_WARPS], l_of[DECODE_KEY_WARPS];
    __shared__ float sum_of[DECODE_KEY_WARPS][DECODE_LANE_DIMS * DECODE_WARP]; // [warp][head_dim]
    decode_start_next();
    size_t row = blockIdx.y;
    int head = (int)blockIdx.x, warp = (int)threadIdx.x / DECODE_WARP, warps = (int)blockDim.x / DECODE_WARP;
    int lanes = c.head_dim <= 32 ? 4 : c.head_dim <= 64 ? 8 : 16, lane = (int)threadIdx.x % DECODE_WARP;
    size_t of_head = (size_t)(head / (c.heads / c.kv_heads) * c.head_dim);
    const struct decode_context context = {
        keys + of_head,           values + of_head,       row, positions[row] + 1, lanes, lane % lanes,
        (int)threadIdx.x / lanes, (int)blockDim.x / lanes};
    const float *q = qkv + row * (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim) + head * c.head_dim;
    struct decode_found found = {-INFINITY, 0.0f, {0.0f}};
    decode_find(&found, c, context, block_table, q);
    decode_merge_groups(&found, lanes);
    if (lane == 0) {
        m_of[warp] = found.m;
        l_of[warp] = found.l;
    }
    if (lane < lanes && lane * DECODE_VECTOR < c.head_dim)
        for (int i = 0; i < DECODE_VECTOR; i++) sum_of[warp][lane * DECODE_VECTOR + i] = found.sum[i];
    __syncthreads();   // what every warp found is there
    float m = m_of[0]; // the first warp has a key: position 0
    for (int w = 1; w < warps; w++) m = fmaxf(m, m_of[w]);
    for (int d = (int)threadIdx.x; d < c.head_dim; d += (int)blockDim.x) {
        float l = 0.0f, sum = 0.0f;
        for (int w = 0; w < warps; w++) { // without keys: m is -infinity, so that it counts 0 times
            l += expf(m_of[w] - m) * l_of[w];
            sum += expf(m_of[w] - m) * sum_of[w][d];
        }
        out[(row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim + (size_t)d] = sum / l;
    }
}

/** @brief Threads of its blocks: no more warps than the longest context has groups of keys; the same for every batch. */
static inline int decode_attention_threads(const struct decode_config *c)
{
    int groups = (int)(((size_t)c->max_blocks * (size_t)c->block_size + DECODE_WARP - 1) / DECODE_WARP);
    return DECODE_WARP * (groups < DECODE_KEY_WARPS ? groups : (int)DECODE_KEY_WARPS);
}

/* ---- the parts of a step ------------------------------------------------------------------------------- */

/** @brief x = the embeddings of the tokens. One launch, which waits for all that is in front of it in the stream. */
static inline enum kernel_status decode_embed(const struct decode_model *model,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    dim3 grid(((unsigned)model->config.hidden + DECODE_THREADS - 1) / DECODE_THREADS, (unsigned)rows);
    decode_embed_kernel<<<grid, DECODE_THREADS, 0, stream>>>(b->tokens, (const __half *)model->embedding,
                                                             b->x, model->config.hidden);
    return decode_launch_status();
}

/** @brief The attention of a layer: the new key and value, then all of them. Two launches. */
static inline void decode_attend(const struct decode_config *c, int index, const struct decode_buffers *b,
                                 int rows, cudaStream_t stream)
{
    size_t kv_elems = decode_cache_elems(c) / (2 * (size_t)c->layers);
    __half *keys = (__half *)b->cache + (size_t)index * 2 * kv_elems, *values = keys + kv_elems;
    dim3 turned((unsigned)(c->heads + c->kv_heads), (unsigned)rows),
        heads((unsigned)c->heads, (unsigned)rows);
    struct decode_launch launch;
    cudaLaunchKernelEx(decode_launch_early(&launch, turned, DECODE_WARP, stream), decode_rope_append_kernel,
                       *c, b->positions, b->block_table, b->qkv, keys, values);
    cudaLaunchKernelEx(decode_launch_early(&launch, heads, decode_attention_threads(c), stream),
                       decode_attention_kernel, *c, b->positions, b->block_table, b->qkv, keys, values,
                       b->attended);
}

/**
 * @brief One layer: appends to the cache, changes x. Six launches.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if a weight of the layer is missing
 */
static inline enum kernel_status decode_layer(const struct decode_model *model, int index,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_layer *w = &model->layer[index];
    if (!w->attention_norm || !w->qkv || !w->out || !w->mlp_norm || !w->gate_up || !w->down)
        return KERNEL_INVALID_CONFIG;
    const struct decode_projection qkv = {(const __half *)w->qkv,
                                          (const __half *)w->attention_norm,
                                          b->x,
                                          b->qkv,
                                          c->hidden,
                                          (int)decode_qkv_width(c),
                                          rows,
                                          0};
    const struct decode_projection out = {(const __half *)w->out, NULL,      b->attended, b->x,
                                          c->heads * c->head_dim, c->hidden, rows,        1};
    const struct decode_projection gate = {(const __half *)w->gate_up,
                                           (const __half *)w->mlp_norm,
                                           b->x,
                                           b->gated,
                                           c->hidden,
                                           c->intermediate,
                                           rows,
                                           0};
    const struct decode_projection down = {(const __half *)w->down, NULL,      b->gated, b->x,
                                           c->intermediate,         c->hidden, rows,     1};
    decode_project(&qkv, stream);
    decode_attend(c, index, b, rows, stream);
    decode_project(&out, stream);
    decode_gate(&gate, stream);
    decode_project(&down, stream);
    return decode_launch_status();
}

/** @brief The logits of x. One launch. */
static inline enum kernel_status decode_logits(const struct decode_model *model,
                                               const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_projection logits = {(const __half *)model->to_logits,
                                             (const __half *)model->final_norm,
                                             b->x,
                                             b->logits,
                                             c->hidden,
                                             c->vocab,
                                             rows,
                                             0};
    decode_project(&logits, stream);
    return decode_launch_status();
}

/** @brief What decode_graphs_step() does, with a launch for every kernel; see cuda_graph.h. */
static inline enum kernel_status decode_step_launch_by_launch(const struct decode_model *model,
                                                              const struct decode_buffers *b,
                                                              const struct decode_batch *batch,
                                                              cudaStream_t stream)
{
    size_t rows = (size_t)batch->rows, table = rows * (size_t)model->config.max_blocks;
    size_t logits = rows * (size_t)model->config.vocab;
    const enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
    cudaMemcpyAsync(b->tokens, batch->tokens, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->positions, batch->positions, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->block_table, batch->block_table, table * sizeof(int), kind, stream);
    enum kernel_status status = decode_embed(model, b, batch->rows, stream);
    for (int i = 0; i < model->config.layers && status == KERNEL_OK; i++)
        status = decode_layer(model, i, b, batch->rows, stream);
    if (status == KERNEL_OK) status = decode_logits(model, b, batch->rows, stream);
    cudaMemcpyAsync(batch->logits, b->logits, logits * sizeof(float), kind, stream);
    return status == KERNEL_OK ? decode_launch_status() : status;
}

#endif

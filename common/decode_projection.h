/**
 * @file decode_projection.h
 * @brief Products with weight matrices, norm and gate included: part of decode_kernels.h.
 */
#ifndef WARPWISE_DECODE_PROJECTION_H
#define WARPWISE_DECODE_PROJECTION_H

#include "decode_launch.h"

/**
 * @brief What a warp works out of a row for two outputs: sums of weight * gain * x, and, for the norm, of
 * x^2. The norm divides all of x by the same number, so the sum can be divided by it as well, afterwards: a
 * norm costs no kernel.
 */
template <int ROWS> struct decode_sums {
    float dot[2][ROWS];  /**< sum of weight * gain * x, of each output and row */
    float squares[ROWS]; /**< sum of x^2 */
};

/**
 * @brief The weights of two outputs. They share x and the gain, whose registers cost more than the
 * weights'.
 */
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
    uint4 weights[2][DECODE_LOADS]; /**< eight a visit, of each output */
    uint4 gain[DECODE_LOADS];       /**< eight a visit; ones where there is none */
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

/**
 * @brief Sum of four products. Spelled out, so that it is rounded in the same way wherever it is compiled
 * into.
 */
static __device__ __forceinline__ float decode_dot(const float *w, float4 x)
{
    return fmaf(w[3], x.w, fmaf(w[2], x.z, fmaf(w[1], x.y, w[0] * x.x)));
}

/** @brief Adds eight inputs of row @p r, each times its gain and its weights. */
template <int ROWS>
static __device__ __forceinline__ void decode_add_eight(struct decode_sums<ROWS> *sums, int r,
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
 * @brief Adds the inputs from @p first on of every row. Of a single row one half of each eight is asked for
 * before any is used; the other half lies in the same sector, so it will be near when it is needed.
 */
template <int ROWS>
static __device__ __forceinline__ void decode_add(struct decode_sums<ROWS> *sums,
                                                  const struct decode_ready *ready,
                                                  const float *x, // [rows, inputs]
                                                  int first, int inputs, int rows)
{
    float4 low[DECODE_LOADS];
#pragma unroll
    for (int i = 0; ROWS == 1 && i < DECODE_LOADS; i++) {
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
        if (ROWS == 1) decode_add_eight(sums, 0, w, g, low[i], *(const float4 *)(x + at + 4));
#pragma unroll
        for (int r = 0; ROWS > 1 && r < ROWS; r++) {
            if (r >= rows) continue; // the same for all lanes, and the same work for a row
            const float4 *from = (const float4 *)(x + (size_t)r * (size_t)inputs + at);
            decode_add_eight(sums, r, w, g, from[0], from[1]);
        }
    }
}

/** @brief This lane's part of the sums, 16 bytes of weights at a time. The first of them are @p ready. */
template <int ROWS>
static __device__ __forceinline__ void decode_wide_sums(struct decode_sums<ROWS> *sums,
                                                        struct decode_ready *ready, struct decode_pair pair,
                                                        const __half *gain, // [inputs], or NULL
                                                        const float *x,     // [rows, inputs]
                                                        int inputs, int rows)
{
    const int stride = DECODE_LOADS * DECODE_SPAN;
    for (int first = (int)threadIdx.x % DECODE_WARP * DECODE_VECTOR; first < inputs; first += stride) {
        decode_add<ROWS>(sums, ready, x, first, inputs, rows);
        if (first + stride < inputs) decode_fetch(ready, pair, gain, first + stride, inputs);
    }
}

/** @brief The same for sizes and places that 16 bytes do not fit. */
template <int ROWS>
static __device__ inline void decode_narrow_sums(struct decode_sums<ROWS> *sums, struct decode_pair pair,
                                                 const __half *gain, // [inputs], or NULL
                                                 const float *x,     // [rows, inputs]
                                                 int inputs, int rows)
{
    for (int i = (int)threadIdx.x % DECODE_WARP; i < inputs; i += DECODE_WARP) {
        float w[2] = {__half2float(pair.of[0][i]), __half2float(pair.of[1][i])};
        float g = gain == NULL ? 1.0f : __half2float(gain[i]);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (r >= rows) continue;
            float value = x[(size_t)r * (size_t)inputs + (size_t)i];
            sums->squares[r] = fmaf(value, value, sums->squares[r]);
            for (int k = 0; k < 2; k++) sums->dot[k][r] = fmaf(w[k], g * value, sums->dot[k][r]);
        }
    }
}

/**
 * @brief Both projections of row @p r, in every lane: normalized if there is a gain. All lanes must call
 * it.
 */
template <int ROWS>
static __device__ __forceinline__ float2 decode_finish(const struct decode_sums<ROWS> *sums, int r,
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

/**
 * @brief out = norm(x) W^T, or out += x W^T. A warp for each two outputs next to each other, of
 * ROWS rows.
 */
template <int ROWS>
static __global__ void __launch_bounds__(DECODE_THREADS, DECODE_BLOCKS)
    decode_project_kernel(struct decode_projection p)
{
    decode_start_next();
    int output = 2 * (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * ROWS, rows = min(p.rows - first_row, ROWS);
    int lane = (int)threadIdx.x % DECODE_WARP, last = p.outputs - 1;
    if (output > last) return; // whole warps
    const __half *weights = p.weights + (size_t)output * (size_t)p.inputs;
    struct decode_pair pair = {{weights, output < last ? weights + p.inputs : weights}};
    const float *x = p.x + (size_t)first_row * (size_t)p.inputs;
    float *out = p.out + (size_t)first_row * (size_t)p.outputs + output + lane;
    const bool wide = decode_is_wide(p),
               writes = lane < 2 && output + lane <= last; // a lane for each of the two
    struct decode_sums<ROWS> sums = {
    };
    struct decode_ready ready;
    if (wide) decode_fetch(&ready, pair, p.gain, lane * DECODE_VECTOR, p.inputs);
    decode_wait();               // x and out belong to the kernels in front
    float before[ROWS] = {0.0f}; // asked for together with x
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (p.add && writes && r < rows) before[r] = out[(size_t)r * (size_t)p.outputs];
    if (wide)
        decode_wide_sums(&sums, &ready, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows) continue;
        float2 both = decode_finish<ROWS>(&sums, r, p.gain, p.inputs);
        if (writes) out[(size_t)r * (size_t)p.outputs] = before[r] + (lane == 0 ? both.x : both.y);
    }
}

/**
 * @brief out = silu(gate) * up, where gate and up are the two halves of norm(x) W^T. A warp for each pair
 * of outputs.
 */
template <int ROWS>
static __global__ void __launch_bounds__(DECODE_THREADS, DECODE_BLOCKS)
    decode_gate_kernel(struct decode_projection p)
{
    decode_start_next();
    int output = (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * ROWS, rows = min(p.rows - first_row, ROWS);
    if (output >= p.outputs) return; // whole warps
    const __half *weights = p.weights + (size_t)output * (size_t)p.inputs;
    struct decode_pair pair = {{weights, weights + (size_t)p.outputs * (size_t)p.inputs}};
    const float *x = p.x + (size_t)first_row * (size_t)p.inputs;
    struct decode_sums<ROWS> sums = {
    };
    struct decode_ready ready;
    const bool wide = decode_is_wide(p);
    if (wide) decode_fetch(&ready, pair, p.gain, (int)threadIdx.x % DECODE_WARP * DECODE_VECTOR, p.inputs);
    decode_wait(); // x belongs to the kernel in front
    if (wide)
        decode_wide_sums(&sums, &ready, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows) continue;
        float2 gate_up = decode_finish<ROWS>(&sums, r, p.gain, p.inputs);
        if (threadIdx.x % DECODE_WARP == 0)
            p.out[(size_t)(first_row + r) * (size_t)p.outputs + output] =
                gate_up.x / (1.0f + expf(-gate_up.x)) * gate_up.y;
    }
}

/** @brief The rows that share a visit of the weights: one row has registers to spare for more blocks. */
static inline int decode_rows_together(const struct decode_projection *p)
{
    return p->rows == 1 ? 1 : (int)DECODE_ROWS;
}

/** @brief The blocks for @p warps warps a row. */
static inline dim3 decode_projection_grid(const struct decode_projection *p, int warps)
{
    int of_block = DECODE_THREADS / DECODE_WARP, together = decode_rows_together(p);
    return dim3((unsigned)((warps + of_block - 1) / of_block),
                (unsigned)((p->rows + together - 1) / together));
}

/** @brief out = norm(x) W^T, or out += x W^T, for every row. One launch. */
static inline void decode_project(const struct decode_projection *p, cudaStream_t stream)
{
    struct decode_launch launch;
    dim3 grid = decode_projection_grid(p, (p->outputs + 1) / 2);
    cudaLaunchKernelEx(decode_launch_early(&launch, grid, DECODE_THREADS, stream),
                       p->rows == 1 ? decode_project_kernel<1> : decode_project_kernel<DECODE_ROWS>, *p);
}

/** @brief out = silu(gate) * up, for every row. One launch. */
static inline void decode_gate(const struct decode_projection *p, cudaStream_t stream)
{
    struct decode_launch launch;
    dim3 grid = decode_projection_grid(p, p->outputs);
    cudaLaunchKernelEx(decode_launch_early(&launch, grid, DECODE_THREADS, stream),
                       p->rows == 1 ? decode_gate_kernel<1> : decode_gate_kernel<DECODE_ROWS>, *p);
}

#endif

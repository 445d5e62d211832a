/**
 * @file decode_projection.h
 * @brief Products with weight matrices, norm and gate included: part of decode_kernels.h.
 */
#pragma once

#include "decode_launch.h"

/**
 * @brief What a warp computes of a row for two outputs: sums of weight * gain * x, and, for the norm, of
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

/**
 * @brief Eight of a row's elements on their way to a lane: four, and four that lie DECODE_FAR further, so
 * that each load of a warp is of one piece: of weights 256 bytes, of x 512.
 */
struct decode_halves {
    uint2 low;  /**< elements at .. at + 3 */
    uint2 high; /**< elements at + DECODE_FAR .. at + DECODE_FAR + 3 */
};

/** @brief Asks for the eight from @p at on; what is not there is @p other, two halves. */
static __device__ __forceinline__ struct decode_halves decode_ask_halves(const __half *from, int at,
                                                                         int inputs, unsigned other)
{
    const uint2 none = make_uint2(other, other);
    return {at < inputs ? *(const uint2 *)(from + at) : none,
            at + DECODE_FAR < inputs ? *(const uint2 *)(from + at + DECODE_FAR) : none};
}

/** @brief The eight as floats. */
static __device__ __forceinline__ void decode_open(float *to, struct decode_halves halves)
{
    decode_to_floats(to, make_uint4(halves.low.x, halves.low.y, halves.high.x, halves.high.y));
}

/** @brief The first of this lane's inputs. */
static __device__ __forceinline__ int decode_lane_first(void)
{
    return (int)threadIdx.x % DECODE_WARP * (DECODE_VECTOR / 2);
}

/** @brief Weights and gains of DECODE_LOADS visits, on their way. */
struct decode_ready {
    struct decode_halves weights[2][DECODE_LOADS]; /**< of each output; zeros past the last input */
    struct decode_halves gain[DECODE_LOADS];       /**< ones where there is none */
};

/** @brief Asks for this lane's weights and gains from input @p first on. */
static __device__ __forceinline__ void decode_fetch(struct decode_ready *ready, struct decode_pair pair,
                                                    const __half *gain, int first, int inputs)
{
    const unsigned ones = 0x3c003c00u; // two halves
#pragma unroll
    for (int i = 0; i < DECODE_LOADS; i++) {
        int at = first + i * DECODE_SPAN;
        ready->weights[0][i] = decode_ask_halves(pair.of[0], at, inputs, 0);
        ready->weights[1][i] = decode_ask_halves(pair.of[1], at, inputs, 0);
        ready->gain[i] = decode_ask_halves(gain, at, gain != NULL ? inputs : 0, ones);
    }
}

/** @brief Eight weights of each of two outputs, times the gains. */
struct decode_weighed {
    float of[2][DECODE_VECTOR]; /**< of each output */
};

/** @brief Weights times gains of visit @p i. */
static __device__ __forceinline__ struct decode_weighed decode_weigh(const struct decode_ready *ready, int i)
{
    struct decode_weighed weighed;
    float gain[DECODE_VECTOR];
    decode_open(gain, ready->gain[i]);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        decode_open(weighed.of[k], ready->weights[k][i]);
#pragma unroll
        for (int j = 0; j < DECODE_VECTOR; j++) weighed.of[k][j] *= gain[j];
    }
    return weighed;
}

/** @brief The weights of the first DECODE_LOADS visits, times the gains. */
static __device__ __forceinline__ void
decode_weigh_first(struct decode_weighed *weighed, struct decode_pair pair, const __half *gain, int inputs)
{
    struct decode_ready ready;
    decode_fetch(&ready, pair, gain, decode_lane_first(), inputs);
#pragma unroll
    for (int i = 0; i < DECODE_LOADS; i++) weighed[i] = decode_weigh(&ready, i);
}

/** @brief Eight inputs of a row. */
struct decode_inputs {
    float4 low;  /**< as in decode_halves */
    float4 high; /**< the same */
};

/** @brief Asks for the eight inputs from @p at on; zeros past the last. */
static __device__ __forceinline__ struct decode_inputs decode_ask_inputs(const float *x, int at, int inputs)
{
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return {at < inputs ? *(const float4 *)(x + at) : none,
            at + DECODE_FAR < inputs ? *(const float4 *)(x + at + DECODE_FAR) : none};
}

/**
 * @brief Sum of four products. Spelled out, so that it is rounded in the same way wherever it is compiled
 * into.
 */
static __device__ __forceinline__ float decode_dot(const float *w, float4 x)
{
    return fmaf(w[3], x.w, fmaf(w[2], x.z, fmaf(w[1], x.y, w[0] * x.x)));
}

/** @brief Adds eight inputs of row @p r. */
template <int ROWS>
static __device__ __forceinline__ void decode_add_eight(struct decode_sums<ROWS> *sums, int r,
                                                        const struct decode_weighed &w,
                                                        const struct decode_inputs &x)
{
    const float low[4] = {x.low.x, x.low.y, x.low.z, x.low.w};
    const float high[4] = {x.high.x, x.high.y, x.high.z, x.high.w};
    sums->squares[r] += decode_dot(low, x.low) + decode_dot(high, x.high);
    sums->dot[0][r] += decode_dot(w.of[0], x.low) + decode_dot(w.of[0] + 4, x.high);
    sums->dot[1][r] += decode_dot(w.of[1], x.low) + decode_dot(w.of[1] + 4, x.high);
}

/** @brief Whether visit @p i of those from this lane's @p first on holds an input of any lane. */
static __device__ __forceinline__ bool decode_visits(int first, int i, int inputs)
{
    return first - first % DECODE_SPAN + i * DECODE_SPAN < inputs;
}

/**
 * @brief Adds DECODE_LOADS visits of every row. All inputs that are added together are asked for together:
 * of a single row those of all visits, else those of all rows. @p weighed: of each visit, or NULL, to be
 * made of @p ready.
 */
template <int ROWS>
static __device__ __forceinline__ void decode_add(struct decode_sums<ROWS> *sums,
                                                  const struct decode_weighed *weighed,
                                                  const struct decode_ready *ready,
                                                  const float *x, // [rows, inputs]
                                                  int first, int inputs, int rows)
{
    struct decode_inputs of_visit[DECODE_LOADS], of_row[ROWS];
#pragma unroll
    for (int i = 0; ROWS == 1 && i < DECODE_LOADS; i++)
        of_visit[i] = decode_ask_inputs(x, first + i * DECODE_SPAN, inputs);
#pragma unroll
    for (int i = 0; i < DECODE_LOADS; i++) {
        if (!decode_visits(first, i, inputs)) continue;
        const struct decode_weighed w = weighed != NULL ? weighed[i] : decode_weigh(ready, i);
        if (ROWS == 1) decode_add_eight(sums, 0, w, of_visit[i]);
#pragma unroll
        for (int r = 0; ROWS > 1 && r < ROWS; r++) // a row that is not there is the last one again
            of_row[r] = decode_ask_inputs(x + (size_t)min(r, rows - 1) * (size_t)inputs,
                                          first + i * DECODE_SPAN, inputs);
#pragma unroll
        for (int r = 0; ROWS > 1 && r < ROWS; r++) decode_add_eight(sums, r, w, of_row[r]);
    }
}

/** @brief This lane's part of the sums. The first weights are @p weighed already, before x was there. */
template <int ROWS>
static __device__ __forceinline__ void decode_wide_sums(struct decode_sums<ROWS> *sums,
                                                        const struct decode_weighed *weighed,
                                                        struct decode_pair pair,
                                                        const __half *gain, // [inputs], or NULL
                                                        const float *x,     // [rows, inputs]
                                                        int inputs, int rows)
{
    const int stride = DECODE_LOADS * DECODE_SPAN, lane_first = decode_lane_first();
    decode_add<ROWS>(sums, weighed, NULL, x, lane_first, inputs, rows);
    for (int base = stride; base < inputs; base += stride) {
        struct decode_ready ready;
        decode_fetch(&ready, pair, gain, base + lane_first, inputs);
        decode_add<ROWS>(sums, NULL, &ready, x, base + lane_first, inputs, rows);
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
 * @brief Both projections of row @p r, in every lane; @p share: of one input in the mean that normalizes.
 * Rounded in the same way for any number of rows. All lanes must call it.
 */
template <int ROWS>
static __device__ __forceinline__ float2 decode_finish(const struct decode_sums<ROWS> *sums, int r,
                                                       bool normalize, float share)
{
    float a = sums->dot[0][r], b = sums->dot[1][r], squares = sums->squares[r];
#pragma unroll
    for (int distance = DECODE_WARP / 2; distance > 0; distance /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, distance);
        b += __shfl_xor_sync(0xffffffffu, b, distance);
        squares += __shfl_xor_sync(0xffffffffu, squares, distance);
    }
    float norm = normalize ? rsqrtf(fmaf(squares, share, DECODE_EPSILON)) : 1.0f;
    return make_float2(__fmul_rn(a, norm), __fmul_rn(b, norm)); // never fused with a later addition
}

/** @brief A product with a weight matrix, of all rows. */
struct decode_projection {
    const __half *weights; /**< [outputs, inputs] */
    const __half *gain;    /**< [inputs] of the norm before it; NULL: none */
    const float *x;        /**< [rows, inputs] */
    float *out;            /**< [rows, outputs] */
    int inputs;            /**< elements of a row of x */
    int outputs; /**< elements of a row of out; of the gate's weights there are twice as many rows */
    int rows;    /**< rows of the batch */
    int add;     /**< 1: out += ... */
};

/** @brief Whether rows of weights, the gain and rows of x can be read four elements at a time. */
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
    const bool wide = decode_is_wide(p);
    const bool writes = lane < 2 && output + lane <= last; // a lane for each of the two
    const float share = 1.0f / (float)p.inputs;
    decode_sums<ROWS> sums = {};
    struct decode_weighed weighed[DECODE_LOADS];
    if (wide) decode_weigh_first(weighed, pair, p.gain, p.inputs);
    decode_wait();               // x and out belong to the preceding kernels
    float before[ROWS] = {0.0f}; // asked for together with x
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (p.add && writes && r < rows) before[r] = out[(size_t)r * (size_t)p.outputs];
    if (wide)
        decode_wide_sums(&sums, weighed, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows) continue;
        float2 both = decode_finish<ROWS>(&sums, r, p.gain != NULL, share);
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
    const float share = 1.0f / (float)p.inputs;
    decode_sums<ROWS> sums = {};
    struct decode_weighed weighed[DECODE_LOADS];
    const bool wide = decode_is_wide(p);
    if (wide) decode_weigh_first(weighed, pair, p.gain, p.inputs);
    decode_wait(); // x belongs to the preceding kernel
    if (wide)
        decode_wide_sums(&sums, weighed, pair, p.gain, x, p.inputs, rows);
    else
        decode_narrow_sums(&sums, pair, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows) continue;
        float2 gate_up = decode_finish<ROWS>(&sums, r, p.gain != NULL, share);
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

/** @brief The blocks for @p warps warps per row. */
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
    const cudaLaunchConfig_t *early = decode_launch_early(&launch, grid, DECODE_THREADS, stream);
    if (p->rows == 1)
        cudaLaunchKernelEx(early, decode_project_kernel<1>, *p);
    else
        cudaLaunchKernelEx(early, decode_project_kernel<DECODE_ROWS>, *p);
}

/** @brief out = silu(gate) * up, for every row. One launch. */
static inline void decode_gate(const struct decode_projection *p, cudaStream_t stream)
{
    struct decode_launch launch;
    dim3 grid = decode_projection_grid(p, p->outputs);
    const cudaLaunchConfig_t *early = decode_launch_early(&launch, grid, DECODE_THREADS, stream);
    if (p->rows == 1)
        cudaLaunchKernelEx(early, decode_gate_kernel<1>, *p);
    else
        cudaLaunchKernelEx(early, decode_gate_kernel<DECODE_ROWS>, *p);
}

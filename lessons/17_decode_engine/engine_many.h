/**
 * @file engine_many.h
 * @brief Given in lesson 17, for prompts and large batches: a product of many rows, whose weights are read once for up to 128 of them.
 *
 * It adds in the order of product_kernel(), slice after slice, so its sums are the same bits: the eight slices of a sum come one after
 * the other in one warp, where product_kernel() has a warp for each. What goes into it was normalised before, by a kernel that uses
 * load_inputs(), find_factor() and stage_inputs() of the lesson.
 *
 *      a block      M outputs x N rows of the batch, 2 x 4 warps
 *      a step       STEP spans of both, copied to shared memory a few steps ahead; a row of a span is 64 bytes
 *      a lane       the same 16 bytes of a row as in product_kernel(): two instructions' worth, without conflicts of banks
 */
#ifndef WARPWISE_ENGINE_MANY_H
#define WARPWISE_ENGINE_MANY_H

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "engine_parts.h"
#include "engine_tensor.h"
#include "engine_wide.h"
#include "kernel_launch.h"
#include "warp_matrix.h"

/* Defined in the lesson's kernel file. */
template <int KIND, int ROWS>
__device__ inline void load_inputs(struct inputs<KIND> *in, const struct product &p, int first_row, int first,
                                   int end);
template <int KIND, int ROWS>
__device__ inline float find_factor(const struct inputs<KIND> *in, const struct product &p, int first_row,
                                    int begin, int end);
template <int KIND, int ROWS>
__device__ inline void stage_inputs(__half (*staged)[STAGED], const struct inputs<KIND> &in, float factor);

/** @brief Writes four halves of row @p row from column @p at on. */
__device__ inline void write_normed(const struct product &p, int row, int at, uint2 halves)
{
    __half *const to = p.normed + (size_t)row * (size_t)p.inputs;
    if (p.by_warpgroups) {
        *(unsigned *)(to + in_span(at)) = halves.x;
        *(unsigned *)(to + in_span(at + 2)) = halves.y;
    } else {
        *(uint2 *)(to + at) = halves;
    }
}

enum { NORM_ROWS = 2 /**< of a block of norm_kernel() */ };

/** @brief Normalises NORM_ROWS rows per block to halves at p.normed; rows that do not exist become zeros. */
template <int KIND> __global__ void __launch_bounds__(THREADS) norm_kernel(struct product p)
{
    __shared__ alignas(16) __half staged[WARPS][NORM_ROWS][STAGED];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int first_row = (int)blockIdx.x * NORM_ROWS, spans = p.inputs / SPAN;
    const int end = (warp + 1) * spans / WARPS, begin = warp * spans / WARPS;
    struct inputs<KIND> in;
    let_next_start();
    wait_for_kernel_before();
    load_inputs<KIND, NORM_ROWS>(&in, p, first_row, begin, end);
    const float factor = find_factor<KIND, NORM_ROWS>(&in, p, first_row, begin, end);
    for (int first = begin; first < end; first += CHUNK) {
        const int at = first * SPAN + lane * 4;
        if (first > begin) load_inputs<KIND, NORM_ROWS>(&in, p, first_row, first, end);
        stage_inputs<KIND, NORM_ROWS>(staged[warp], in, factor);
        __syncwarp(); // the chunk is there
        for (int i = 0; i < NORM_ROWS && first_row + i < p.rows; i++)
            if (at < end * SPAN)
                write_normed(p, first_row + i, at, *(const uint2 *)&staged[warp][i][lane * 4]);
        __syncwarp(); // it has been read before the next one replaces it
    }
}

/** @brief A block of many_kernel(). */
template <int M, int N, int STAGES> struct many : tile_of<M, N> {
    enum {
        /** Of dynamic shared memory: steps, and sums */
        BYTES = STAGES * tile_of<M, N>::STEP_AT * 16 + M * N * 4
    };
};

/** @brief Multiplies one span: the lane's fragments of A and B are 16 bytes of each of their rows. */
template <typename SHAPE>
__device__ inline void multiply_span(float (*c)[SHAPE::OF_M][SHAPE::OF_N][4], const uint4 *weights,
                                     const uint4 *x)
{
    uint4 b[SHAPE::OF_N];
#pragma unroll
    for (int j = 0; j < SHAPE::OF_N; j++) b[j] = x[j * 8 * SHAPE::ROW];
#pragma unroll
    for (int i = 0; i < SHAPE::OF_M; i++) {
        const uint4 low = weights[i * 16 * SHAPE::ROW], high = weights[(i * 16 + 8) * SHAPE::ROW];
        const uint32_t a[4] = {low.x, high.x, low.y, high.y}, a_next[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
        for (int j = 0; j < SHAPE::OF_N; j++) {
            multiply_add<__half>(c[0][i][j], a, b[j].x, b[j].y);
            multiply_add<__half>(c[1][i][j], a_next, b[j].z, b[j].w);
        }
    }
}

/** @brief Adds a slice to the sums, and begins the next one at 0. */
template <typename SHAPE>
__device__ inline void add_slice(float *sums, float (*c)[SHAPE::OF_M][SHAPE::OF_N][4])
{
#pragma unroll
    for (int i = 0; i < SHAPE::OF_M; i++)
#pragma unroll
        for (int j = 0; j < SHAPE::OF_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                sums[((i * SHAPE::OF_N + j) * 4 + e) * THREADS] += c[0][i][j][e] + c[1][i][j][e];
                c[0][i][j][e] = c[1][i][j][e] = 0.0f;
            }
}

/** @brief Hands a lane's sums to write_output(): rows g and g + 8 of 16 outputs are two, or gate and up of one. */
template <int KIND, int M, int N, typename SHAPE>
__device__ inline void write_tile(const struct product &p, int tile, int first_row, const float *sums)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int at = 0; at < SHAPE::OF_M * SHAPE::OF_N * 2; at++) {
        const int i = at / (SHAPE::OF_N * 2), j = at / 2 % SHAPE::OF_N, e = at % 2;
        const int row = first_row + (warp / 2 * SHAPE::OF_N + j) * 8 + lane % 4 * 2 + e;
        const int tall = warp % 2 * SHAPE::OF_M + i, g = lane / 4;
        const float low = sums[((i * SHAPE::OF_N + j) * 4 + e) * THREADS],
                    high = sums[((i * SHAPE::OF_N + j) * 4 + e + 2) * THREADS];
        if (row_of_x<KIND>(p, row) < 0) continue;
        for (int half = 0; half < (KIND == TO_GATED ? 1 : 2); half++) {
            const int output =
                KIND == TO_GATED ? tile * (M / 2) + tall * 8 + g : tile * M + tall * 16 + half * 8 + g;
            const float pair[2] = {half ? high : low, high};
            if (output >= p.outputs) continue;
            const float before =
                KIND == TO_STATE ? ((const float *)p.out)[(size_t)row * (size_t)p.outputs + (size_t)output]
                                 : 0.0f;
            write_output<KIND>(p, row, output, pair, before);
        }
    }
}

/** @brief Block (tile of outputs, tile of rows): a product of M outputs and N rows. */
template <int KIND, int M, int N, int STAGES>
__global__ void __launch_bounds__(THREADS) many_kernel(struct product p)
{
    typedef struct many<M, N, STAGES> SHAPE;
    extern __shared__ uint4 weights[]; // steps, then sums
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int of_rows = divide_up(p.rows, N), tile = (int)blockIdx.x / of_rows,
              first_row = (int)blockIdx.x % of_rows * N;
    const int spans = p.inputs / SPAN, steps = divide_up(spans, SHAPE::STEP);
    const int from_m = (warp % 2 * SHAPE::OF_M * 16 + lane / 4) * SHAPE::ROW + lane % 4,
              from_n = (M + warp / 2 * SHAPE::OF_N * 8 + lane / 4) * SHAPE::ROW + lane % 4;
    float *const sums = (float *)(weights + STAGES * SHAPE::STEP_AT) + threadIdx.x;
    float c[2][SHAPE::OF_M][SHAPE::OF_N][4] = {};
    const __half *from[SHAPE::COPIES];
    for (int i = 0; i < SHAPE::COPIES; i++)
        from[i] = many_row<KIND, M>(p, tile, first_row, (i * THREADS + (int)threadIdx.x) / SHAPE::ROW) +
                  threadIdx.x % SHAPE::ROW * 8;
    for (int i = 0; i < SHAPE::OF_M * SHAPE::OF_N * 4; i++) sums[i * THREADS] = 0.0f;
    let_next_start();
    wait_for_kernel_before();
    const auto copy_step = [&](int step) {
        for (int s = 0; s < SHAPE::STEP && step * SHAPE::STEP + s < spans; s++)
#pragma unroll
            for (int i = 0; i < SHAPE::COPIES; i++)
                copy_16_bytes(weights + step % STAGES * SHAPE::STEP_AT + s * SHAPE::SPAN_AT + i * THREADS +
                                  threadIdx.x,
                              from[i] + (size_t)(step * SHAPE::STEP + s) * SPAN, 1);
        __pipeline_commit(); // an empty group, too: the wait counts steps
    };
    for (int step = 0; step < STAGES - 1; step++) copy_step(step);
    int slice = 0, last = spans / WARPS - 1; // its last span; a slice may have none
    for (int step = 0; step < steps; step++) {
        __pipeline_wait_prior(STAGES - 2); // this step's copies, of this thread
        __syncthreads();                   // of all threads; and all have used the step before
        copy_step(step + STAGES - 1);
        const uint4 *at = weights + step % STAGES * SHAPE::STEP_AT;
#pragma unroll
        for (int s = 0; s < SHAPE::STEP; s++, at += SHAPE::SPAN_AT) {
            const int span = step * SHAPE::STEP + s;
            if (span >= spans) break;
            multiply_span<SHAPE>(c, at + from_m, at + from_n);
            while (last < span) last = (++slice + 1) * spans / WARPS - 1;
            if (last == span) add_slice<SHAPE>(sums, c);
        }
    }
    write_tile<KIND, M, N, SHAPE>(p, tile, first_row, sums);
}

/** @brief Launches @p kernel, whose blocks have tiles of @p m outputs and @p n rows. */
template <int KIND>
inline enum kernel_status launch_tiles_with(void (*kernel)(struct product), int m, int n, int bytes,
                                            const struct product &p, cudaStream_t stream)
{
    const int tiles = divide_up(p.outputs, KIND == TO_GATED ? m / 2 : m);
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(bytes, kernel, dim3(tiles * divide_up(p.rows, n)), THREADS, stream, p);
}

/** @brief Launches many_kernel() for tiles of M outputs and N rows. */
template <int KIND, int M, int N, int STAGES>
inline enum kernel_status launch_tiles(const struct product &p, cudaStream_t stream)
{
    return launch_tiles_with<KIND>(many_kernel<KIND, M, N, STAGES>, M, N, many<M, N, STAGES>::BYTES, p,
                                   stream);
}

/** @brief Launches wide_kernel(). */
template <int KIND> inline enum kernel_status launch_wide(const struct product &p, cudaStream_t stream)
{
    return launch_tiles_with<KIND>(wide_kernel<KIND>, wide::M, wide::N, wide::BYTES, p, stream);
}

/**
 * @brief A product of many rows: with a norm in a kernel before it, if KIND has one. The largest tiles that keep three quarters of the
 *        GPU busy are taken.
 * @return ::KERNEL_OK, or ::KERNEL_CUDA_ERROR
 */
template <int KIND> inline enum kernel_status launch_many(struct product p, cudaStream_t stream)
{
    const int sms = device_attribute(cudaDevAttrMultiProcessorCount), width = KIND == TO_GATED ? 2 : 1;
    const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const auto fits = [&](int m, int n, int bytes) {
        const long long blocks = (long long)divide_up(p.outputs, m / width) * divide_up(p.rows, n);
        return p.rows > n / 2 && blocks >= sms * 3LL / 4 && bytes <= shared;
    };
    p.by_warpgroups = for_warpgroups(p.rows);
    if constexpr (KIND != TO_STATE) {
        const enum kernel_status status =
            launch_early(norm_kernel<KIND>, dim3(divide_up(p.rows, NORM_ROWS)), THREADS, stream, p);
        if (status != KERNEL_OK) return status;
    }
    if (p.by_warpgroups) return launch_tensor<KIND>(p, stream);
    if (fits(wide::M, wide::N, wide::BYTES)) return launch_wide<KIND>(p, stream);
    if (fits(64, 64, many<64, 64, 4>::BYTES)) return launch_tiles<KIND, 64, 64, 4>(p, stream);
    return launch_tiles<KIND, 32, 32, 6>(p, stream);
}

#endif

/**
 * @file engine_wide.h
 * @brief Lesson 17's tiles of 128 outputs and 128 rows, where a product is large enough for them: the same bits as engine_many.h.
 *
 * A warp has as many sums as its registers hold, and few blocks fit an SM: so what it needs next is loaded while it multiplies.
 * In smaller tiles the same order of work was slower: blocks beside each other hide those loads already.
 */
#ifndef WARPWISE_ENGINE_WIDE_H
#define WARPWISE_ENGINE_WIDE_H

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "engine_parts.h"
#include "kernel_launch.h"
#include "warp_matrix.h"

/* Defined in the lesson's kernel file. */
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums,
                                    float before);

/** @brief Where row @p row of a tile's weights and inputs begins; rows past the last are the last again. */
template <int KIND, int M>
__device__ inline const __half *many_row(const struct product &p, int tile, int first_row, int row)
{
    if (row >= M)
        return (const __half *)(KIND == TO_STATE ? p.x : p.normed) +
               (size_t)min(first_row + row - M, p.rows - 1) * (size_t)p.inputs;
    if (KIND != TO_GATED) return p.weights + (size_t)min(tile * M + row, p.outputs - 1) * (size_t)p.inputs;
    // 8 of gate, their 8 of up.
    const int output = min(tile * (M / 2) + row / 16 * 8 + row % 8, p.outputs - 1);
    return p.weights + ((size_t)output + (size_t)(row / 8 % 2) * (size_t)p.outputs) * (size_t)p.inputs;
}

/** @brief A tile of M outputs and N rows, and a step of it in shared memory. */
template <int M, int N> struct tile_of {
    enum {
        STEP = 2,                   /**< spans between two barriers */
        ROW = 4,                    /**< uint4 of a row of a span */
        SPAN_AT = (M + N) * ROW,    /**< uint4 of a span */
        STEP_AT = STEP * SPAN_AT,   /**< of a step */
        OF_M = M / 32,              /**< instructions of a warp along outputs: 16 each, two warps */
        OF_N = N / 32,              /**< along rows: 8 each, four warps */
        COPIES = SPAN_AT / THREADS, /**< 16 bytes each, of a thread and a span */
    };
};

/** @brief A block of wide_kernel(). */
struct wide : tile_of<128, 128> {
    enum {
        M = 128,                      /**< outputs */
        N = 128,                      /**< rows of the batch */
        STAGES = 4,                   /**< steps in shared memory */
        BYTES = STAGES * STEP_AT * 16 /**< of dynamic shared memory: steps */
    };
};

/** @brief What a lane multiplies of a span: 16 bytes of each of its rows, two instructions' worth. */
struct fragments {
    uint4 low;           /**< of the weights, row g of 16 */
    uint4 high;          /**< of row g + 8 */
    uint4 x[wide::OF_N]; /**< of the inputs */
};

/** @brief Loads the weights of instruction @p i along outputs. */
__device__ inline void load_weights(struct fragments *f, const uint4 *weights, int i)
{
    f->low = weights[i * 16 * wide::ROW];
    f->high = weights[(i * 16 + 8) * wide::ROW];
}

/** @brief Multiplies number @p i along outputs with input @p j. */
__device__ inline void multiply(float (*c)[wide::OF_M][wide::OF_N][4], const struct fragments &f, int i,
                                int j)
{
    const uint32_t a[4] = {f.low.x, f.high.x, f.low.y, f.high.y},
                   a_next[4] = {f.low.z, f.high.z, f.low.w, f.high.w};
    multiply_add<__half>(c[0][i][j], a, f.x[j].x, f.x[j].y);
    multiply_add<__half>(c[1][i][j], a_next, f.x[j].z, f.x[j].w);
}

/** @brief Adds a slice to the sums of OF_M x OF_N instructions, and begins the next one at 0. */
template <int OF_M, int OF_N>
__device__ inline void add_slice(float (*sums)[OF_N][4], float (*c)[OF_M][OF_N][4])
{
#pragma unroll
    for (int i = 0; i < OF_M; i++)
#pragma unroll
        for (int j = 0; j < OF_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                sums[i][j][e] += c[0][i][j][e] + c[1][i][j][e];
                c[0][i][j][e] = c[1][i][j][e] = 0.0f;
            }
}

/**
 * @brief Hands sums of ROWS rows of the batch, those with @p there, to write_output(): of outputs @p output and @p output + 8, or gate and up
 *        of one. What TO_STATE adds to is loaded for all of them before any is written, or each load would wait for the store in front of it.
 */
template <int KIND, int ROWS>
__device__ inline void write_rows(const struct product &p, int output, const int row[ROWS],
                                  const bool there[ROWS], const float (*sums)[4])
{
    enum { OUTPUTS_OF = KIND == TO_GATED ? 1 : 2 };
    float before[ROWS][OUTPUTS_OF] = {};
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        for (int half = 0; half < OUTPUTS_OF; half++)
            if (KIND == TO_STATE && there[j] && output + half * 8 < p.outputs)
                before[j][half] =
                    ((const float *)p.out)[(size_t)row[j] * (size_t)p.outputs + (size_t)(output + half * 8)];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        for (int half = 0; half < OUTPUTS_OF; half++) {
            const float low = sums[j / 2][j % 2], high = sums[j / 2][j % 2 + 2];
            const float pair[2] = {half ? high : low, high};
            if (there[j] && output + half * 8 < p.outputs)
                write_output<KIND>(p, row[j],
                                   KIND == TO_GATED && p.by_warpgroups ? in_span(output) : output + half * 8,
                                   pair, before[j][half]);
        }
}

/** @brief Hands a lane's sums to write_output(), rows g and g + 8 of 16 outputs at a time. */
template <int KIND>
__device__ inline void write_wide(const struct product &p, int tile, int first_row,
                                  const float (*sums)[wide::OF_N][4])
{
    enum { ROWS = wide::OF_N * 2 };
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    bool there[ROWS];
    int row[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        row[j] = first_row + (warp / 2 * wide::OF_N + j / 2) * 8 + lane % 4 * 2 + j % 2;
        there[j] = row_of_x<KIND>(p, row[j]) >= 0;
    }
#pragma unroll
    for (int i = 0; i < wide::OF_M; i++) {
        const int tall = warp % 2 * wide::OF_M + i;
        const int output =
            (KIND == TO_GATED ? tile * (wide::M / 2) + tall * 8 : tile * wide::M + tall * 16) + lane / 4;
        write_rows<KIND, ROWS>(p, output, row, there, sums[i]);
    }
}

/**
 * @brief Block (tile of outputs, tile of rows): a product of 128 outputs and 128 rows.
 *
 * While a warp multiplies, the fragments that it needs next are on their way from shared memory: the weights of the next 16 outputs, and
 * with the last 16 the inputs of the next span. So the barrier between two steps comes before the last instructions of a step, when
 * all that the warp needs of the step is in registers.
 */
template <int KIND> __global__ void __launch_bounds__(THREADS) wide_kernel(struct product p)
{
    extern __shared__ uint4 weights[]; // steps
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int of_rows = divide_up(p.rows, wide::N), tile = (int)blockIdx.x / of_rows,
              first_row = (int)blockIdx.x % of_rows * wide::N;
    const int spans = p.inputs / SPAN;
    const int from_m = (warp % 2 * wide::OF_M * 16 + lane / 4) * wide::ROW + lane % 4,
              from_n = (wide::M + warp / 2 * wide::OF_N * 8 + lane / 4) * wide::ROW + lane % 4;
    float c[2][wide::OF_M][wide::OF_N][4] = {}, sums[wide::OF_M][wide::OF_N][4] = {};
    const __half *from[wide::COPIES];
    for (int i = 0; i < wide::COPIES; i++)
        from[i] = many_row<KIND, wide::M>(p, tile, first_row, (i * THREADS + (int)threadIdx.x) / wide::ROW) +
                  threadIdx.x % wide::ROW * 8;
    let_next_start();
    wait_for_kernel_before();
    int copied = 0; // spans
    const auto copy_step = [&](uint4 *to) {
#pragma unroll
        for (int s = 0; s < wide::STEP; s++, copied++)
            if (copied < spans)
#pragma unroll
                for (int i = 0; i < wide::COPIES; i++)
                    copy_16_bytes(to + s * wide::SPAN_AT + i * THREADS + threadIdx.x,
                                  from[i] + (size_t)copied * SPAN, 1);
        __pipeline_commit(); // an empty group, too: the wait counts steps
    };
#pragma unroll 1
    for (int stage = 0; stage < wide::STAGES; stage++) copy_step(weights + stage * wide::STEP_AT);
    struct fragments now;
    __pipeline_wait_prior(wide::STAGES - 1); // the first step's copies, of this thread
    __syncthreads();                         // of all threads
    load_weights(&now, weights + from_m, 0);
#pragma unroll
    for (int j = 0; j < wide::OF_N; j++) now.x[j] = weights[from_n + j * 8 * wide::ROW];
    int slice = 0, last = spans / WARPS - 1; // its last span; a slice may have none
    uint4 *at = weights;                     // the step
#pragma unroll 1
    for (int first = 0; first < spans; first += wide::STEP) {
        uint4 *const at_next =
            at + wide::STEP_AT < weights + wide::STAGES * wide::STEP_AT ? at + wide::STEP_AT : weights;
#pragma unroll
        for (int s = 0; s < wide::STEP; s++) {
            const int span = first + s;
            if (span >= spans) break; // the whole block
            const uint4 *const here = at + s * wide::SPAN_AT;
            const uint4 *const next = span + 1 >= spans    ? here // nobody needs it
                                      : s + 1 < wide::STEP ? here + wide::SPAN_AT
                                                           : at_next;
#pragma unroll
            for (int i = 0; i < wide::OF_M; i++) {
                struct fragments soon;
                if (i + 1 < wide::OF_M) {
                    load_weights(&soon, here + from_m, i + 1);
                } else {
                    if (s + 1 == wide::STEP) {
                        __pipeline_wait_prior(wide::STAGES - 2); // the next step's copies, of this thread
                        __syncthreads(); // of all threads; and all have loaded what they need of this one
                    }
                    load_weights(&soon, next + from_m, 0);
                    if (s + 1 == wide::STEP) copy_step(at);
                }
#pragma unroll
                for (int j = 0; j < wide::OF_N; j++) {
                    multiply(c, now, i, j);
                    if (i + 1 == wide::OF_M) now.x[j] = next[from_n + j * 8 * wide::ROW];
                }
                now.low = soon.low, now.high = soon.high;
            }
            while (last < span) last = (++slice + 1) * spans / WARPS - 1;
            if (last == span) add_slice<wide::OF_M, wide::OF_N>(sums, c);
        }
        at = at_next;
    }
    write_wide<KIND>(p, tile, first_row, sums);
}

#endif

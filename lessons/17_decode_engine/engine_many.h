/**
 * @file engine_many.h
 * @brief What lesson 17 gives for prompts and large batches: a product of many rows, whose weights are read once for up to 128 of them.
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
#include "kernel_launch.h"
#include "warp_matrix.h"

/* What the lesson's kernel file has. */
template <int KIND, int ROWS>
__device__ inline void load_inputs(struct inputs<KIND> *in, const struct product &p, int first_row, int first,
                                   int end);
template <int KIND, int ROWS>
__device__ inline float find_factor(const struct inputs<KIND> *in, const struct product &p, int first_row,
                                    int begin, int end);
template <int KIND, int ROWS>
__device__ inline void stage_inputs(__half (*staged)[STAGED], const struct inputs<KIND> &in, float factor);
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums,
                                    float before);

/** @brief Normalises eight rows per block to halves at p.normed; rows that are nowhere become zeros. */
template <int KIND> __global__ void __launch_bounds__(THREADS) norm_kernel(struct product p)
{
    __shared__ alignas(16) __half staged[WARPS][TILE][STAGED];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int first_row = (int)blockIdx.x * TILE, spans = p.inputs / SPAN;
    const int end = (warp + 1) * spans / WARPS, begin = warp * spans / WARPS;
    struct inputs<KIND> in;
    let_next_start();
    wait_for_kernel_before();
    load_inputs<KIND, TILE>(&in, p, first_row, begin, end);
    const float factor = find_factor<KIND, TILE>(&in, p, first_row, begin, end);
    for (int first = begin; first < end; first += CHUNK) {
        const int at = first * SPAN + lane * 4;
        if (first > begin) load_inputs<KIND, TILE>(&in, p, first_row, first, end);
        stage_inputs<KIND, TILE>(staged[warp], in, factor);
        __syncwarp(); // the chunk is there
        for (int i = 0; i < TILE && first_row + i < p.rows; i++)
            if (at < end * SPAN)
                *(uint2 *)(p.normed + (size_t)(first_row + i) * (size_t)p.inputs + (size_t)at) =
                    *(const uint2 *)&staged[warp][i][lane * 4];
        __syncwarp(); // and was read, before the next replaces it
    }
}

/** @brief A block of many_kernel(): its tile, and what lies in shared memory. */
template <int M, int N, int STAGES> struct many {
    enum {
        STEP = 2,                      /**< spans between two barriers */
        ROW = 4,                       /**< uint4 of a row of a span */
        SPAN_AT = (M + N) * ROW,       /**< uint4 of a span */
        STEP_AT = STEP * SPAN_AT,      /**< of a step */
        OF_M = M / 32,                 /**< instructions of a warp along outputs: 16 each, two warps */
        OF_N = N / 32,                 /**< along rows: 8 each, four warps */
        COPIES = SPAN_AT / THREADS,    /**< 16 bytes each, of a thread and a span */
        BYTES = STAGES * STEP_AT * 16, /**< of dynamic shared memory: steps */
    };
};

/** @brief Where row @p row of a tile's weights and inputs begins; rows past the last are the last again. */
template <int KIND, int M>
__device__ inline const __half *many_row(const struct product &p, int tile, int first_row, int row)
{
    if (row >= M)
        return (const __half *)(KIND == TO_STATE ? p.x : p.normed) +
               (size_t)min(first_row + row - M, p.rows - 1) * (size_t)p.inputs;
    if (KIND != TO_GATED) return p.weights + (size_t)min(tile * M + row, p.outputs - 1) * (size_t)p.inputs;
    const int output =
        min(tile * (M / 2) + row / 16 * 8 + row % 8, p.outputs - 1); // 8 of gate, their 8 of up
    return p.weights + ((size_t)output + (size_t)(row / 8 % 2) * (size_t)p.outputs) * (size_t)p.inputs;
}

/** @brief What a lane multiplies of a span: 16 bytes of each of its rows, two instructions' worth. */
template <typename SHAPE> struct fragments {
    uint4 low;            /**< of the weights, row g of 16 */
    uint4 high;           /**< of row g + 8 */
    uint4 x[SHAPE::OF_N]; /**< of the inputs */
};

/** @brief Loads the weights of instruction @p i along outputs. */
template <typename SHAPE>
__device__ inline void load_weights(struct fragments<SHAPE> *f, const uint4 *weights, int i)
{
    f->low = weights[i * 16 * SHAPE::ROW];
    f->high = weights[(i * 16 + 8) * SHAPE::ROW];
}

/** @brief Multiplies number @p i along outputs with input @p j. */
template <typename SHAPE>
__device__ inline void multiply(float (*c)[SHAPE::OF_M][SHAPE::OF_N][4], const struct fragments<SHAPE> &f,
                                int i, int j)
{
    const uint32_t a[4] = {f.low.x, f.high.x, f.low.y, f.high.y},
                   a_next[4] = {f.low.z, f.high.z, f.low.w, f.high.w};
    multiply_add<__half>(c[0][i][j], a, f.x[j].x, f.x[j].y);
    multiply_add<__half>(c[1][i][j], a_next, f.x[j].z, f.x[j].w);
}

/** @brief Adds a slice to the sums, and begins the next one at 0. */
template <typename SHAPE>
__device__ inline void add_slice(float (*sums)[SHAPE::OF_N][4], float (*c)[SHAPE::OF_M][SHAPE::OF_N][4])
{
#pragma unroll
    for (int i = 0; i < SHAPE::OF_M; i++)
#pragma unroll
        for (int j = 0; j < SHAPE::OF_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                sums[i][j][e] += c[0][i][j][e] + c[1][i][j][e];
                c[0][i][j][e] = c[1][i][j][e] = 0.0f;
            }
}

/**
 * @brief Hands a lane's sums to write_output(): rows g and g + 8 of 16 outputs are two, or gate and up of one. What TO_STATE adds to is
 *        loaded for 16 outputs at a time before any of them is written, or each load would wait for the store in front of it.
 */
template <int KIND, int M, int N, typename SHAPE>
__device__ inline void write_tile(const struct product &p, int tile, int first_row,
                                  const float (*sums)[SHAPE::OF_N][4])
{
    enum { OUTPUTS_OF = KIND == TO_GATED ? 1 : 2, ROWS = SHAPE::OF_N * 2 };
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    bool there[ROWS];
    int row[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        row[j] = first_row + (warp / 2 * SHAPE::OF_N + j / 2) * 8 + lane % 4 * 2 + j % 2;
        there[j] = row_of_x<KIND>(p, row[j]) >= 0;
    }
#pragma unroll
    for (int i = 0; i < SHAPE::OF_M; i++) {
        const int tall = warp % 2 * SHAPE::OF_M + i;
        const int output = (KIND == TO_GATED ? tile * (M / 2) + tall * 8 : tile * M + tall * 16) + lane / 4;
        float before[ROWS][OUTPUTS_OF] = {};
#pragma unroll
        for (int j = 0; j < ROWS; j++)
            for (int half = 0; half < OUTPUTS_OF; half++)
                if (KIND == TO_STATE && there[j] && output + half * 8 < p.outputs)
                    before[j][half] =
                        ((const float *)
                             p.out)[(size_t)row[j] * (size_t)p.outputs + (size_t)(output + half * 8)];
#pragma unroll
        for (int j = 0; j < ROWS; j++)
            for (int half = 0; half < OUTPUTS_OF; half++) {
                const float low = sums[i][j / 2][j % 2], high = sums[i][j / 2][j % 2 + 2];
                const float pair[2] = {half ? high : low, high};
                if (there[j] && output + half * 8 < p.outputs)
                    write_output<KIND>(p, row[j], output + half * 8, pair, before[j][half]);
            }
    }
}

/**
 * @brief Block (tile of outputs, tile of rows): a product of M outputs and N rows.
 *
 * While a warp multiplies, the fragments that it needs next are on their way from shared memory: the weights of the next 16 outputs, and
 * with the last 16 the inputs of the next span. So the barrier between two steps comes before the last instructions of a step, when
 * all that the warp needs of the step is in registers.
 */
template <int KIND, int M, int N, int STAGES>
__global__ void __launch_bounds__(THREADS) many_kernel(struct product p)
{
    typedef struct many<M, N, STAGES> SHAPE;
    extern __shared__ uint4 weights[]; // steps
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int of_rows = divide_up(p.rows, N), tile = (int)blockIdx.x / of_rows,
              first_row = (int)blockIdx.x % of_rows * N;
    const int spans = p.inputs / SPAN;
    const int from_m = (warp % 2 * SHAPE::OF_M * 16 + lane / 4) * SHAPE::ROW + lane % 4,
              from_n = (M + warp / 2 * SHAPE::OF_N * 8 + lane / 4) * SHAPE::ROW + lane % 4;
    float c[2][SHAPE::OF_M][SHAPE::OF_N][4] = {}, sums[SHAPE::OF_M][SHAPE::OF_N][4] = {};
    const __half *from[SHAPE::COPIES];
    for (int i = 0; i < SHAPE::COPIES; i++)
        from[i] = many_row<KIND, M>(p, tile, first_row, (i * THREADS + (int)threadIdx.x) / SHAPE::ROW) +
                  threadIdx.x % SHAPE::ROW * 8;
    let_next_start();
    wait_for_kernel_before();
    int copied = 0; // spans
    const auto copy_step = [&](uint4 *to) {
#pragma unroll
        for (int s = 0; s < SHAPE::STEP; s++, copied++)
            if (copied < spans)
#pragma unroll
                for (int i = 0; i < SHAPE::COPIES; i++)
                    copy_16_bytes(to + s * SHAPE::SPAN_AT + i * THREADS + threadIdx.x,
                                  from[i] + (size_t)copied * SPAN, 1);
        __pipeline_commit(); // also of nothing: the wait counts steps
    };
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++) copy_step(weights + stage * SHAPE::STEP_AT);
    struct fragments<SHAPE> now;
    __pipeline_wait_prior(STAGES - 1); // the first step's copies, of this thread
    __syncthreads();                   // of all threads
    load_weights<SHAPE>(&now, weights + from_m, 0);
#pragma unroll
    for (int j = 0; j < SHAPE::OF_N; j++) now.x[j] = weights[from_n + j * 8 * SHAPE::ROW];
    int slice = 0, last = spans / WARPS - 1; // its last span; a slice may have none
    uint4 *at = weights;                     // the step
#pragma unroll 1
    for (int first = 0; first < spans; first += SHAPE::STEP) {
        uint4 *const at_next =
            at + SHAPE::STEP_AT < weights + STAGES * SHAPE::STEP_AT ? at + SHAPE::STEP_AT : weights;
#pragma unroll
        for (int s = 0; s < SHAPE::STEP; s++) {
            const int span = first + s;
            if (span >= spans) break; // the whole block
            const uint4 *const here = at + s * SHAPE::SPAN_AT;
            const uint4 *const next = span + 1 >= spans     ? here // nobody needs it
                                      : s + 1 < SHAPE::STEP ? here + SHAPE::SPAN_AT
                                                            : at_next;
#pragma unroll
            for (int i = 0; i < SHAPE::OF_M; i++) {
                struct fragments<SHAPE> soon;
                if (i + 1 < SHAPE::OF_M) {
                    load_weights<SHAPE>(&soon, here + from_m, i + 1);
                } else {
                    if (s + 1 == SHAPE::STEP) {
                        __pipeline_wait_prior(STAGES - 2); // the next step's copies, of this thread
                        __syncthreads(); // of all threads; and all have loaded what they need of this one
                    }
                    load_weights<SHAPE>(&soon, next + from_m, 0);
                    if (s + 1 == SHAPE::STEP) copy_step(at);
                }
#pragma unroll
                for (int j = 0; j < SHAPE::OF_N; j++) {
                    multiply<SHAPE>(c, now, i, j);
                    if (i + 1 == SHAPE::OF_M) now.x[j] = next[from_n + j * 8 * SHAPE::ROW];
                }
                now.low = soon.low, now.high = soon.high;
            }
            while (last < span) last = (++slice + 1) * spans / WARPS - 1;
            if (last == span) add_slice<SHAPE>(sums, c);
        }
        at = at_next;
    }
    write_tile<KIND, M, N, SHAPE>(p, tile, first_row, sums);
}

/** @brief Launches many_kernel() for tiles of M outputs and N rows. */
template <int KIND, int M, int N, int STAGES>
inline enum kernel_status launch_tiles(const struct product &p, cudaStream_t stream)
{
    enum { BYTES = many<M, N, STAGES>::BYTES };
    const int tiles = divide_up(p.outputs, KIND == TO_GATED ? M / 2 : M);
    if (cudaFuncSetAttribute(many_kernel<KIND, M, N, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             BYTES) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(BYTES, many_kernel<KIND, M, N, STAGES>, dim3(tiles * divide_up(p.rows, N)),
                             THREADS, stream, p);
}

/**
 * @brief A product of many rows: with a norm in a kernel before it, if KIND has one. The largest tiles that keep three quarters of the
 *        GPU busy are taken.
 * @return ::KERNEL_OK, or ::KERNEL_CUDA_ERROR
 */
template <int KIND> inline enum kernel_status launch_many(const struct product &p, cudaStream_t stream)
{
    const int sms = device_attribute(cudaDevAttrMultiProcessorCount), width = KIND == TO_GATED ? 2 : 1;
    const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const auto fits = [&](int m, int n, int bytes) {
        const long long blocks = (long long)divide_up(p.outputs, m / width) * divide_up(p.rows, n);
        return p.rows > n / 2 && blocks >= sms * 3LL / 4 && bytes <= shared;
    };
    if constexpr (KIND != TO_STATE) {
        const enum kernel_status status =
            launch_early(norm_kernel<KIND>, dim3(divide_up(p.rows, TILE)), THREADS, stream, p);
        if (status != KERNEL_OK) return status;
    }
    if (fits(128, 128, many<128, 128, 4>::BYTES)) return launch_tiles<KIND, 128, 128, 4>(p, stream);
    if (fits(64, 64, many<64, 64, 4>::BYTES)) return launch_tiles<KIND, 64, 64, 4>(p, stream);
    return launch_tiles<KIND, 32, 32, 6>(p, stream);
}

#endif

/**
 * @file engine_tensor.h
 * @brief Lesson 17's tiles of 128 rows on Hopper (sm_90): the same bits as engine_wide.h; the tensor copy engine (TMA) loads.
 *
 * One thread asks for whole boxes, so no other has an address, a copy or a register of them: what is free then holds fragments that were
 * loaded ahead. Mbarriers stand where engine_wide.h has barriers of the whole block: a warp that is ahead waits for nobody until the
 * stages run out.
 *
 *      a warp     16 OF_M outputs x 8 OF_N rows of the batch. Of a span it keeps the fragments of its weights, which take moves
 *                 between registers (A has two rows in turn), and streams those of its inputs, which take none
 *      a step     two spans: 128 bytes of each row, which TMA swizzles: piece i of row r lies at i ^ r % 8
 *      a lane     (g, t) has row g / 2 + g % 2 * 4 of eight, not g: so eight lanes, which read two rows, meet no bank twice
 */
#ifndef WARPWISE_ENGINE_TENSOR_H
#define WARPWISE_ENGINE_TENSOR_H

#include <cuda_fp16.h>

#include "engine_parts.h"
#include "engine_wide.h"
#include "hopper.h"
#include "kernel_launch.h"
#include "warp_matrix.h"

/** @brief A block of tensor_kernel(): M outputs and N rows of the batch, ACROSS warps beside each other along outputs. */
template <int M_, int N_, int ACROSS_> struct tensor_tile {
    enum {
        M = M_,                                   /**< outputs */
        N = N_,                                   /**< rows of the batch */
        ACROSS = ACROSS_,                         /**< warps along outputs; the others along rows */
        STEP = 2,                                 /**< spans of a step */
        STAGES = 6,                               /**< steps in shared memory */
        ROW = STEP * 4,                           /**< uint4 of a row of a step */
        STEP_AT = (M + N) * ROW,                  /**< of a step */
        OF_M = M / 16 / ACROSS,                   /**< instructions of a warp along outputs: 16 each */
        OF_N = N / 8 * ACROSS / WARPS,            /**< along rows: 8 each */
        SOON = OF_N - OF_M < 2 ? OF_N - OF_M : 2, /**< along rows: where the next span's weights are loaded */
        BOX = M / 2,                              /**< rows of a box of weights: of gate, and of up */
        AT_ONCE = OF_N < 4 ? OF_N : 4,            /**< instructions along rows that are written at once */
        BYTES = STAGES * STEP_AT * 16             /**< of dynamic shared memory: steps */
    };
    static_assert(SOON >= 0 && BOX % 8 == 0,
                  "weights of a span are loaded in the one before; boxes begin at 1024 bytes");
};

/** @brief The tensor maps that TMA reads. */
struct tensor_maps {
    CUtensorMap weights; /**< rows of weights */
    CUtensorMap x;       /**< rows of the batch */
};

/** @brief The compiler may neither load these 16 bytes later than here, nor compute them again. The hardware executes nothing. */
__device__ __forceinline__ void hold_here(uint4 &x)
{
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w));
#else
    (void)x;
#endif
}

/** @brief Loads a lane's 16 bytes, here. */
__device__ inline uint4 load_here(const uint4 *from)
{
    uint4 x = *from;
    hold_here(x);
    return x;
}

/** @brief A of two instructions: 16 outputs, and a span. */
struct tensor_fragment {
    uint4 even; /**< of the first: rows g and g + 8 of its eight lower columns, then of the others */
    uint4 odd;  /**< of the second */
};

/**
 * @brief The lane's 16 bytes of rows g and g + 8 as A of two instructions. @p zero is 0, which the compiler does not know: or it would
 *        move registers anew for every instruction.
 */
__device__ inline struct tensor_fragment as_fragment(const uint4 &low, const uint4 &high, unsigned zero)
{
    return {{low.x | zero, high.x | zero, low.y | zero, high.y | zero},
            {low.z | zero, high.z | zero, low.w | zero, high.w | zero}};
}

/** @brief Hands a lane's sums to write_output(), of up to 8 rows of the batch at a time. */
template <int KIND, typename SHAPE>
__device__ inline void write_tensor(const struct product &p, int tile, int first_row,
                                    const float (*sums)[SHAPE::OF_N][4])
{
    enum { ROWS = SHAPE::AT_ONCE * 2 };
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, g = lane / 4;
#pragma unroll
    for (int first = 0; first < SHAPE::OF_N; first += SHAPE::AT_ONCE) {
        bool there[ROWS];
        int row[ROWS];
#pragma unroll
        for (int j = 0; j < ROWS; j++) { // columns 2 t and 2 t + 1 are rows t and t + 4 of eight
            row[j] =
                first_row + (warp / SHAPE::ACROSS * SHAPE::OF_N + first + j / 2) * 8 + lane % 4 + j % 2 * 4;
            there[j] = row_of_x<KIND>(p, row[j]) >= 0;
        }
#pragma unroll
        for (int i = 0; i < SHAPE::OF_M; i++) {
            const int tall = warp % SHAPE::ACROSS * SHAPE::OF_M + i;
            const int output =
                (KIND == TO_GATED ? tile * SHAPE::BOX + tall * 8 : tile * SHAPE::M + tall * 16) + g / 2 +
                g % 2 * 4;
            write_rows<KIND, ROWS>(p, output, row, there, sums[i] + first);
        }
    }
}

/** @brief One thread: asks for the weights of step @p step, in @p stage. All bytes of the step are announced here. */
template <int KIND, typename SHAPE>
__device__ inline void ask_tensor_weights(const struct tensor_maps &maps, const struct product &p,
                                          uint4 *stage, uint64_t *full, int tile, int step)
{
    mbarrier_arrive_expect(full, SHAPE::STEP_AT * 16);
    for (int box = 0; box < 2; box++) {
        const int row =
            KIND == TO_GATED ? tile * SHAPE::BOX + box * p.outputs : tile * SHAPE::M + box * SHAPE::BOX;
        tensor_load(stage + box * (SHAPE::BOX * SHAPE::ROW), &maps.weights, step * SHAPE::STEP * SPAN, row,
                    full);
    }
}

/** @brief The same thread: asks for the inputs of step @p step, in @p stage. */
template <typename SHAPE>
__device__ inline void ask_tensor_inputs(const struct tensor_maps &maps, uint4 *stage, uint64_t *full,
                                         int first_row, int step)
{
    tensor_load(stage + SHAPE::M * SHAPE::ROW, &maps.x, step * SHAPE::STEP * SPAN, first_row, full);
}

/** @brief A warp is done with a stage. */
__device__ inline void give_back(uint64_t *empty)
{
    async_proxy_fence(); // this lane's loads come before what TMA writes there next
    __syncwarp();        // and those of all lanes
    if (threadIdx.x % WARP == 0) mbarrier_arrive(empty);
}

/**
 * @brief Block (tile of outputs, tile of rows): a product of M outputs and N rows.
 *
 * While a warp multiplies, the fragments that it needs next are on their way from shared memory: the next 8 rows of inputs, and late in a
 * span the weights of the next one. There, in the second span of a step, it waits for the next step.
 */
template <int KIND, typename SHAPE>
__global__ void __launch_bounds__(THREADS, 1)
    tensor_kernel(const __grid_constant__ struct tensor_maps maps, struct product p)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    enum { // from the lower rows of 16 outputs to those of the next ones, and to the upper rows, of TO_GATED those of up
        NEXT = (KIND == TO_GATED ? 8 : 16) * SHAPE::ROW,
        HIGH = (KIND == TO_GATED ? SHAPE::BOX : 8) * SHAPE::ROW
    };
    extern __shared__ __align__(1024) uint4 stages[];
    __shared__ uint64_t full[SHAPE::STAGES], empty[SHAPE::STAGES];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int row = lane / 8 + lane / 4 % 2 * 4;     // of eight
    const int of_rows = divide_up(p.rows, SHAPE::N); // tiles that share weights are beside each other
    const int tile = (int)blockIdx.x / of_rows, first_row = (int)blockIdx.x % of_rows * SHAPE::N;
    const unsigned zero = (unsigned)p.rows >> 31;
    const int spans = p.inputs / SPAN, steps = divide_up(spans, SHAPE::STEP);
    const int piece = row * SHAPE::ROW + (lane % 4 ^ row);
    const int to_odd = 4 - row / 4 * 8; // of a step's second span
    const int from_m = warp % SHAPE::ACROSS * SHAPE::OF_M * (KIND == TO_GATED ? 8 : 16) * SHAPE::ROW + piece,
              from_n = (SHAPE::M + warp / SHAPE::ACROSS * SHAPE::OF_N * 8) * SHAPE::ROW + piece;
    if (threadIdx.x == 0) {
        for (int i = 0; i < SHAPE::STAGES; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], WARPS);
        }
        mbarrier_init_fence();
    }
    __syncthreads();
    let_next_start();
    if (threadIdx.x == 0) // no kernel writes weights: they need not wait
        for (int i = 0; i < SHAPE::STAGES - 1 && i < steps; i++)
            ask_tensor_weights<KIND, SHAPE>(maps, p, stages + i * SHAPE::STEP_AT, &full[i], tile, i);
    wait_for_kernel_before();
    if (threadIdx.x == 0)
        for (int i = 0; i < SHAPE::STAGES - 1 && i < steps; i++)
            ask_tensor_inputs<SHAPE>(maps, stages + i * SHAPE::STEP_AT, &full[i], first_row, i);
    float c[2][SHAPE::OF_M][SHAPE::OF_N][4] = {}, sums[SHAPE::OF_M][SHAPE::OF_N][4] = {};
    mbarrier_wait(&full[0], 0);
    struct tensor_fragment now[SHAPE::OF_M];
    uint4 low[SHAPE::OF_M], high[SHAPE::OF_M]; // of the next span
#pragma unroll
    for (int i = 0; i < SHAPE::OF_M; i++)
        now[i] = as_fragment(stages[from_m + i * NEXT], stages[from_m + i * NEXT + HIGH], zero);
    uint4 x = load_here(stages + from_n);
    int slice = 0, end = 0; // of the slice, in spans; a slice may have none
    while (end == 0 && slice < WARPS) end = ++slice * spans / WARPS;
    struct ring next = {1, 0};                 // the stage after this one
    struct ring free = {SHAPE::STAGES - 1, 1}; // the one before it; its first use waits for no one
    const uint4 *at = stages;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        const uint4 *const at_next = step + 1 < steps ? stages + next.stage * SHAPE::STEP_AT : at; // or any
#pragma unroll
        for (int s = 0; s < SHAPE::STEP; s++) {
            // Past the last one both are zeros, and after the last slice.
            const int span = step * SHAPE::STEP + s;
            const uint4 *const here = at + s * to_odd;
            const uint4 *const then = s + 1 < SHAPE::STEP ? here + to_odd : at_next;
#pragma unroll
            for (int j = 0; j < SHAPE::OF_N; j++) {
                const int i_soon = j - SHAPE::SOON;
                if (i_soon == 0 && s + 1 == SHAPE::STEP) {
                    const int later = step + SHAPE::STAGES - 1;
                    if (threadIdx.x == 0 && later < steps) {
                        uint4 *const to = stages + free.stage * SHAPE::STEP_AT;
                        // All warps have used the step before this one.
                        mbarrier_wait(&empty[free.stage], free.parity);
                        ask_tensor_weights<KIND, SHAPE>(maps, p, to, &full[free.stage], tile, later);
                        ask_tensor_inputs<SHAPE>(maps, to, &full[free.stage], first_row, later);
                    }
                    if (step + 1 < steps)
                        mbarrier_wait(&full[next.stage], next.parity); // the next step is there
                }
                const uint4 x_soon =
                    load_here(j + 1 < SHAPE::OF_N ? here + from_n + (j + 1) * 8 * SHAPE::ROW : then + from_n);
                if (i_soon >= 0 && i_soon < SHAPE::OF_M) {
                    low[i_soon] = load_here(then + from_m + i_soon * NEXT);
                    high[i_soon] = load_here(then + from_m + i_soon * NEXT + HIGH);
                }
#pragma unroll
                for (int i = 0; i < SHAPE::OF_M; i++) {
                    multiply_add<__half>(c[0][i][j], (const uint32_t *)&now[i].even, x.x, x.y);
                    multiply_add<__half>(c[1][i][j], (const uint32_t *)&now[i].odd, x.z, x.w);
                }
                x = x_soon;
            }
#pragma unroll
            for (int i = 0; i < SHAPE::OF_M; i++) now[i] = as_fragment(low[i], high[i], zero);
            if (span + 1 == end) {
                add_slice<SHAPE::OF_M, SHAPE::OF_N>(sums, c);
                while (end <= span + 1 && slice < WARPS) end = ++slice * spans / WARPS;
            }
        }
        give_back(&empty[next.stage > 0 ? next.stage - 1 : SHAPE::STAGES - 1]);
        at = at_next;
        advance<SHAPE::STAGES>(&next);
        advance<SHAPE::STAGES>(&free);
    }
    write_tensor<KIND, SHAPE>(p, tile, first_row, sums);
#endif
}

/** @brief Launches tensor_kernel(): the tensor maps tell TMA of rows of weights and rows of inputs. */
template <int KIND, typename SHAPE>
inline enum kernel_status launch_tensor_with(const struct product &p, cudaStream_t stream)
{
    void (*const kernel)(const struct tensor_maps, struct product) = tensor_kernel<KIND, SHAPE>;
    const int tiles = divide_up(p.outputs, KIND == TO_GATED ? SHAPE::BOX : SHAPE::M);
    struct tensor_maps maps;
    const int rows = KIND == TO_GATED ? 2 * p.outputs : p.outputs;
    if (!tensor_map(&maps.weights, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, p.weights, rows, p.inputs, p.inputs,
                    SHAPE::BOX) ||
        !tensor_map(&maps.x, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, KIND == TO_STATE ? p.x : p.normed, p.rows,
                    p.inputs, p.inputs, SHAPE::N))
        return KERNEL_CUDA_ERROR;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHAPE::BYTES) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(SHAPE::BYTES, kernel, dim3((unsigned)(tiles * divide_up(p.rows, SHAPE::N))),
                             THREADS, stream, maps, p);
}

#endif

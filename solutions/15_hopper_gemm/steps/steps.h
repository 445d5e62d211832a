/**
 * @file steps.h
 * @brief The steps to a fast product on Hopper, one kernel per file: C = A B^T in f16, sums in f32, rows without gaps.
 *
 * They are what the page's chart shows; ladder.cu checks and times them beside the solution, which is the next step: every
 * layout, every alignment, alpha and beta, two sizes of tiles. Here is what all of them share.
 */
#ifndef WARPWISE_HOPPER_STEPS_H
#define WARPWISE_HOPPER_STEPS_H

#include <cuda_fp16.h>

#include "hopper.h"
#include "kernel_launch.h"
#include "rasterization.h"
#include "wgmma_tiles.h"

/** @brief C = A B^T; device memory, m, n, k >= 1; n and k multiples of 8, as TMA needs it. */
struct matrices {
    int m;         /**< rows of A and C */
    int n;         /**< rows of B, columns of C */
    int k;         /**< columns of A and B */
    const half *a; /**< [m, k] */
    const half *b; /**< [n, k] */
    half *c;       /**< [m, n] */
};

/** @brief Sizes of all steps but the first, which has smaller tiles. */
enum {
    STEP_K = 64,    /**< depth of a stage: 128 bytes, the width of the swizzle */
    STEP_ROW = 128, /**< bytes of a row of a tile in shared memory */
    STEP_M = 128,   /**< rows of C of a block: 64 for each of two warpgroups */
    STEP_N = 256,   /**< columns */
    STEP_SUMS = STEP_N / 2,
    STEP_A = STEP_M * STEP_ROW, /**< bytes of a tile of A */
    STEP_B = STEP_N * STEP_ROW,
    STEP_STAGES = 4,
    STEP_RASTER = 16,   /**< rows of tiles that are worked on together */
    STEP_BARRIERS = 256 /**< bytes at the end of shared memory that hold the mbarriers */
};

/** @brief Issues the products of one slice: 64 rows of A at @p a, all rows of B at @p b. */
template <int SUMS> __device__ inline void step_multiply(float (&sum)[SUMS], const char *a, const char *b)
{
    uint64_t of_a = tile_descriptor(shared_address(a), 0), of_b = tile_descriptor(shared_address(b), 0);
#pragma unroll
    for (int k = 0; k < STEP_K / 16; k++) wgmma<0, 0>(sum, of_a + 2 * k, of_b + 2 * k, half());
}

/** @brief Writes a warpgroup's 64 rows of sums from registers to C. */
template <int SUMS>
__device__ inline void step_store(const struct matrices &x, int row, int column, const float (&sum)[SUMS])
{
    int lane = (int)threadIdx.x % 32;
    row += (int)threadIdx.x % WARPGROUP / 32 * 16 + lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < SUMS; i += 2) {
        int r = row + i / 2 % 2 * 8, c = column + i / 4 * 8;
        if (r < x.m && c < x.n) *(half2 *)&x.c[(size_t)r * x.n + c] = __floats2half2_rn(sum[i], sum[i + 1]);
    }
}

/** @brief Describes a matrix of @p rows rows and @p columns columns to TMA, in boxes of so many rows. */
static inline CUtensorMap step_map(const void *matrix, int rows, int columns, int box_rows)
{
    CUtensorMap map = {};
    tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, matrix, rows, columns, columns, box_rows);
    return map;
}

/** @name Launchers. They only launch; cudaGetLastError() says whether that went well. */
/** @{ */
void step_wgmma_tma(struct matrices x);          /**< 1: one warpgroup, tiles of 64 x 64 */
void step_larger_tiles(struct matrices x);       /**< 2: tiles of 128 x 256 */
void step_producer_consumers(struct matrices x); /**< 3: a ring of stages */
void step_registers_moved(struct matrices x);    /**< 4: setmaxnreg */
void step_persistent(struct matrices x);         /**< 5: a block per SM */
void step_few_arrivals(struct matrices x);       /**< 6: one arrival per warpgroup */
void step_multicast(struct matrices x);          /**< 7: clusters of two blocks */
void step_tma_store(struct matrices x);          /**< 8: C by TMA */
/** @} */

#endif

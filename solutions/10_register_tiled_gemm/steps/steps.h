/**
 * @file steps.h
 * @brief The steps to a fast product, one kernel per file: C = A B in f32, no transposes, rows without gaps.
 *
 * They are what the page's chart shows; ladder.cu checks and times them beside the solution, which is the next
 * step: two buffers, 8 x 16 sums, every layout.
 */
#ifndef WARPWISE_GEMM_STEPS_H
#define WARPWISE_GEMM_STEPS_H

#include <cuda_runtime.h>

/** @brief C = A B; device memory, m, n, k >= 1, at most 65535 * 32 rows and columns. */
struct matrices {
    int m;          /**< rows of A and C */
    int n;          /**< columns of B and C */
    int k;          /**< columns of A, rows of B */
    const float *a; /**< [m, k] */
    const float *b; /**< [k, n] */
    float *c;       /**< [m, n] */
};

/** @brief How many tiles of @p size cover @p extent. */
static inline unsigned pieces(int extent, int size)
{
    return (unsigned)((extent - 1) / size + 1);
}

/** @brief An element of A, 0 outside. */
__device__ inline float a_at(const struct matrices &x, int row, int k)
{
    return row < x.m && k < x.k ? x.a[(size_t)row * x.k + k] : 0.0f;
}

/** @brief An element of B, 0 outside. */
__device__ inline float b_at(const struct matrices &x, int k, int column)
{
    return k < x.k && column < x.n ? x.b[(size_t)k * x.n + column] : 0.0f;
}

/** @brief Four elements of a row of A, all inside or all 0. */
__device__ inline float4 a_vector_at(const struct matrices &x, int row, int k)
{
    return row < x.m && k < x.k ? *(const float4 *)&x.a[(size_t)row * x.k + k] : make_float4(0, 0, 0, 0);
}

/** @brief Four elements of a row of B, all inside or all 0. */
__device__ inline float4 b_vector_at(const struct matrices &x, int k, int column)
{
    return k < x.k && column < x.n ? *(const float4 *)&x.b[(size_t)k * x.n + column]
                                   : make_float4(0, 0, 0, 0);
}

/** @name Launchers. They only launch; cudaGetLastError() says whether that went well. */
/** @{ */
void step_naive(struct matrices x);          /**< any extents; n at most 65535 */
void step_coalesced(struct matrices x);      /**< any extents; m at most 65535 */
void step_shared(struct matrices x);         /**< any extents */
void step_column_of_sums(struct matrices x); /**< any extents */
void step_square_of_sums(struct matrices x); /**< any extents */
void step_vectors(struct matrices x);        /**< n and k multiples of 4 */
void step_warp_tiles(struct matrices x);     /**< n and k multiples of 4 */
/** @} */

#endif

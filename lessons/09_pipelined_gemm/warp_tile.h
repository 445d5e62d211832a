/**
 * @file warp_tile.h
 * @brief Given in lesson 09: a warp's fragments, their loads and products, and how sums get to C.
 */
#ifndef WARPWISE_WARP_TILE_H
#define WARPWISE_WARP_TILE_H

#include <mma.h>

#include "block_tile.h"

/** @brief 16 x 16 of A, as a warp holds it. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half,
                               nvcuda::wmma::row_major>
    a_fragment;
/** @brief 16 x 16 of B. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half,
                               nvcuda::wmma::row_major>
    b_fragment;
/** @brief 16 x 16 sums. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> c_fragment;

/** @brief First row and column of the running warp's tile in its block's. */
template <typename T> __device__ inline struct coord warp_origin(void)
{
    int warp = (int)threadIdx.x / WARP;
    return {warp / T::WARPS_N * T::WARP_M, warp % T::WARPS_N * T::WARP_N};
}

/** @brief What a warp multiplies in a fragment step: 16 along k. */
template <typename T> struct fragments {
    a_fragment a[T::FRAGMENTS_M]; /**< of all its rows */
    b_fragment b[T::FRAGMENTS_N]; /**< of all its columns */
};

/** @brief Loads the fragments of the fragment step that begins at @p k of a stage. All 32 lanes must call it. */
template <typename T>
__device__ inline void load_fragments(struct fragments<T> *to, const typename T::stage *stage, int k)
{
    struct coord warp = warp_origin<T>();
    for (int i = 0; i < T::FRAGMENTS_M; i++)
        nvcuda::wmma::load_matrix_sync(to->a[i], &stage->a[warp.row + i * FRAGMENT][k], T::K + PAD);
    for (int j = 0; j < T::FRAGMENTS_N; j++)
        nvcuda::wmma::load_matrix_sync(to->b[j], &stage->b[k][warp.column + j * FRAGMENT], T::N + PAD);
}

/** @brief Adds their products to a warp's fragments of C, as in lesson 08. All 32 lanes must call it. */
template <typename T>
__device__ inline void multiply_fragments(c_fragment sum[T::FRAGMENTS_M][T::FRAGMENTS_N],
                                          const struct fragments<T> &of)
{
    for (int i = 0; i < T::FRAGMENTS_M; i++)
        for (int j = 0; j < T::FRAGMENTS_N; j++)
            nvcuda::wmma::mma_sync(sum[i][j], of.a[i], of.b[j], sum[i][j]);
}

/**
 * @brief Writes the elements of a fragment that are inside of C, of which @p rows and @p columns are left from @p c
 * on, through 16 rows of shared memory that only this warp uses. All 32 lanes must call it.
 */
__device__ inline void store_edge_fragment(float *c, size_t ldc, int rows, int columns, const c_fragment &sum,
                                           float *edge /* [FRAGMENT, EDGE_STRIDE] */)
{
    nvcuda::wmma::store_matrix_sync(edge, sum, EDGE_STRIDE, nvcuda::wmma::mem_row_major);
    __syncwarp(); // other lanes hold what this one writes to C
    int lane = (int)threadIdx.x % WARP, column = lane % FRAGMENT;
    for (int pass = 0; pass < FRAGMENT / 2; pass++) { // two rows, which are 2 apart: they share no bank
        int row = pass / 2 * 4 + pass % 2 + lane / FRAGMENT * 2;
        if (row < rows && column < columns) c[row * ldc + column] = edge[row * EDGE_STRIDE + column];
    }
    __syncwarp(); // all have read it, and the next fragment may come
}

/** @brief Writes a warp's tile of C. Whole fragments go straight to memory where its rows allow that. */
template <typename T>
__device__ inline void store_warp_tile(const struct gemm_args &args, struct coord tile,
                                       const c_fragment sum[T::FRAGMENTS_M][T::FRAGMENTS_N], float *edge)
{
    struct coord warp = warp_origin<T>();
    size_t ldc = (size_t)args.ldc;
    int direct = (uintptr_t)args.c % 32 == 0 && ldc % 4 == 0; // what store_matrix_sync demands
#pragma unroll // fragments are in registers, which have no index
    for (int i = 0; i < T::FRAGMENTS_M; i++)
        for (int j = 0; j < T::FRAGMENTS_N; j++) {
            int row = warp.row + i * FRAGMENT, column = warp.column + j * FRAGMENT;
            int rows = args.m - tile.row - row, columns = args.n - tile.column - column; // left in C
            if (rows <= 0 || columns <= 0) continue;
            float *c = (float *)args.c + (size_t)(tile.row + row) * ldc + tile.column + column;
            if (direct && rows >= FRAGMENT && columns >= FRAGMENT)
                nvcuda::wmma::store_matrix_sync(c, sum[i][j], (unsigned)ldc, nvcuda::wmma::mem_row_major);
            else
                store_edge_fragment(c, ldc, rows, columns, sum[i][j], edge);
        }
}

#endif

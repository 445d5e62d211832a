/**
 * @file block_tile.h
 * @brief Given in lesson 09: the sizes of a block's tiles, its place in C, and where its chunks come from.
 */
#ifndef WARPWISE_BLOCK_TILE_H
#define WARPWISE_BLOCK_TILE_H

#include <cuda_fp16.h>

#include "gemm_args.h"
#include "kernel_launch.h"
#include "rasterization.h"

/** @brief Sizes that do not depend on the tile. */
enum {
    WARP = 32,       /**< lanes */
    FRAGMENT = 16,   /**< rows, columns and terms of one matrix instruction */
    CHUNK = 8,       /**< halves in 16 bytes, the most that one copy moves */
    PAD = 8,         /**< halves after each row of a tile: 8 lines of 16 bytes then use all 32 banks */
    RASTER_ROWS = 8, /**< rows of tiles of C that are worked on together */
    EDGE_STRIDE = 24 /**< floats from row to row of what passes fragments of C through shared memory */
};

/** @brief Sizes of a block's work: a tile of C of M x N, k in steps of K, WARP_M x WARP_N of the tile each warp. */
template <int TILE_M, int TILE_N, int TILE_K, int WARP_TILE_M, int WARP_TILE_N> struct tile {
    enum {
        M = TILE_M,
        N = TILE_N,
        K = TILE_K,
        WARP_M = WARP_TILE_M,
        WARP_N = WARP_TILE_N,
        WARPS_N = N / WARP_N, // warps next to each other
        WARPS = M / WARP_M * WARPS_N,
        THREADS = WARPS * WARP,
        FRAGMENTS_M = WARP_M / FRAGMENT, // of a warp
        FRAGMENTS_N = WARP_N / FRAGMENT,
        PORTIONS = K / FRAGMENT / 2 // copies of a tile are begun in so many portions, one per fragment step
    };
    /** What is in shared memory for one step. */
    struct stage {
        half a[TILE_M][TILE_K + PAD]; /**< rows of A */
        half b[TILE_K][TILE_N + PAD]; /**< rows of B */
    };
    static_assert(M % WARP_M == 0 && N % WARP_N == 0 && WARP_M % FRAGMENT == 0 && WARP_N % FRAGMENT == 0 &&
                      K % (2 * FRAGMENT) == 0,
                  "a tile is made of whole warp tiles, those of whole fragments, a step of pairs of them");
    static_assert(THREADS % (K / CHUNK) == 0 && THREADS % (N / CHUNK) == 0 &&
                      M % (PORTIONS * (THREADS / (K / CHUNK))) == 0 &&
                      K % (PORTIONS * (THREADS / (N / CHUNK))) == 0,
                  "the threads copy whole rows, and as many rows each time and in each portion");
    static_assert(WARP % (K / CHUNK) == 0 && WARP % (N / CHUNK) == 0, "a row is copied by one warp");
    static_assert(THREADS / (K / CHUNK) % CHUNK == 0 && THREADS / (N / CHUNK) % CHUNK == 0,
                  "where a thread's first row is misaligned, all its rows are, by as much");
    static_assert(sizeof(struct stage) % 128 == 0, "every stage begins where fragments may");
    static_assert(sizeof(float) * WARPS * FRAGMENT * EDGE_STRIDE <= sizeof(struct stage),
                  "fragments of C pass through the first stage");
};

/** @brief A place in a matrix or in a tile. */
struct coord {
    int row;    /**< from the top */
    int column; /**< from the left */
};

/** @brief First row and column of the tile of C that block @p block computes. */
template <typename T> __device__ inline struct coord block_tile(const struct gemm_args &args, int block)
{
    int tiles_m = divide_up(args.m, T::M), tiles_n = divide_up(args.n, T::N);
    struct tile_index tile = raster_tile<RASTER_ROWS>(block, tiles_m, tiles_n);
    return {tile.row * T::M, tile.column * T::N};
}

/** @brief A or B in device memory. */
struct source {
    const half *data; /**< [rows, leading] */
    size_t leading;   /**< elements from row to row */
    int rows;         /**< of the matrix */
    int cols;         /**< of the matrix */
    int aligned;      /**< whether every row begins at a multiple of 16 bytes */
};

/** @brief The matrix at @p data, which has @p leading elements from row to row. */
__device__ inline struct source source_of(const void *data, int rows, int cols, int leading)
{
    int aligned = (uintptr_t)data % sizeof(uint4) == 0 && leading % CHUNK == 0;
    return {(const half *)data, (size_t)leading, rows, cols, aligned};
}

/** @brief Row and column of the running thread's first chunk in a tile. */
template <int COLUMNS> __device__ inline struct coord thread_chunk(void)
{
    constexpr int ROW_CHUNKS = COLUMNS / CHUNK;
    return {(int)threadIdx.x / ROW_CHUNKS, (int)threadIdx.x % ROW_CHUNKS * CHUNK};
}

/** @brief Where that chunk comes from, if the tile of @p from begins at (row, column). */
template <int COLUMNS>
__device__ inline const half *chunk_address(const struct source &from, int row, int column)
{
    struct coord own = thread_chunk<COLUMNS>();
    return from.data + (size_t)(row + own.row) * from.leading + column + own.column;
}

/** @brief What a block does: a tile of C, in steps of T::K along k. */
struct work {
    struct source a;   /**< A */
    struct source b;   /**< B */
    struct coord tile; /**< first row and column of the tile of C */
    int steps;         /**< along k */
    int ahead;         /**< the tiles of step s + ahead are copied while those of step s are multiplied */
};

/**
 * @brief The work of block @p block. A single stage is filled again before its last fragment step is
 * multiplied.
 */
template <typename T> __device__ inline struct work find_work(const struct gemm_args &args, int block)
{
    return {source_of(args.a, args.m, args.k, args.lda), source_of(args.b, args.k, args.n, args.ldb),
            block_tile<T>(args, block), divide_up(args.k, T::K), max(args.stages - 1, 1)};
}

#endif

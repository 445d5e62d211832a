/**
 * @file tile_sizes.h
 * @brief Given in lesson 20: the tile of a block, what its warps share, and a slice of it in shared memory.
 */
#ifndef WARPWISE_TILE_SIZES_H
#define WARPWISE_TILE_SIZES_H

#include "w4a16_args.h"

/** @brief Sizes that do not depend on the tile. */
enum {
    WARP = 32,
    WARPS = 8, /**< of a block */
    THREADS = WARP * WARPS,
    SLICE = W4_SLICE, /**< depth of a slice of k, and columns of a strip of W */
    CHUNK = 8,        /**< elements of 16 bytes: what one instruction copies */
    ROW_CHUNKS = SLICE / CHUNK,
    STRIP_BLOCKS = 4, /**< of 16 columns, in a strip: a lane's 16 bytes are of one of them */
    MMA_ROWS = 8,     /**< rows of A in one multiply_add(): W stands on its left, with 16 columns */
    GROUPS = 2,       /**< groups that a slice has at most */
    MOST_STAGES = 4,  /**< under way or being multiplied */
    RASTER_ROWS = 8   /**< rows of tiles of C that are worked on at the same time (rasterization.h) */
};

/** @brief Sizes of part "vector". */
enum {
    AHEAD = 4,           /**< slices that a warp loads before it multiplies the first */
    VECTOR_BLOCKS = 2,   /**< blocks of 16 columns, of one strip, that a block of threads takes */
    VECTOR_COLUMNS = 32, /**< columns of them */
    LANE_COLUMNS = 4     /**< of a lane */
};

/** @brief Warps of a block: WARPS_M along rows, WARPS_N along columns, and WARPS_K that take different slices of k. */
template <int ROWS_, int WARPS_M_, int WARPS_N_, int WARPS_K_> struct tile_sizes {
    enum {
        ROWS = ROWS_, // of A, of a warp; it has the 64 columns of a strip
        WARPS_M = WARPS_M_,
        WARPS_N = WARPS_N_,
        WARPS_K = WARPS_K_,
        TILE_M = ROWS * WARPS_M,
        TILE_N = SLICE * WARPS_N,
        FRAGMENTS = ROWS / MMA_ROWS,        // of A, of a warp
        SUMS = STRIP_BLOCKS * FRAGMENTS * 4 // of a lane
    };
    static_assert(WARPS_M * WARPS_N * WARPS_K == WARPS, "every warp has its share");
    static_assert(ROWS % MMA_ROWS == 0, "a warp multiplies whole fragments");
};

typedef struct tile_sizes<16, 1, 2, 4> few_rows;  /**< up to 16: what counts is to load W fast */
typedef struct tile_sizes<64, 1, 4, 2> some_rows; /**< up to 64 */
typedef struct tile_sizes<64, 2, 4, 1> many_rows; /**< more: 128 sums per thread */

/** @brief What a block loads of one slice of k: a chunk of A is swizzled, W is as it was stored. */
template <typename T, typename SIZE> struct alignas(16) slice {
    uint4 a[SIZE::TILE_M][ROW_CHUNKS];          ///< chunk c of row r is at c ^ r % 8
    uint4 w[SIZE::WARPS_N][STRIP_BLOCKS][WARP]; ///< by strip, block and lane
    T scales[GROUPS][SIZE::TILE_N + 16];        ///< of the groups of row 0 and of row 32, in other banks
    uint32_t zeros[GROUPS][SIZE::TILE_N / 8];   ///< of the same
};

/** @brief What a lane of part "vector" loads of one slice: 16 weights of each of its four columns, and what belongs to them. */
struct vector_slice {
    uint4 w[VECTOR_BLOCKS]; /**< by block */
    uint2 scales;           /**< four, of T */
    uint32_t zeros;         /**< of the eight columns of the lanes with the same g */
};

/** @brief Where a warp stands in its block, and a lane in its warp: it has columns 8g .. 8g + 7 of a strip, rows 16t .. 16t + 15. */
struct place {
    int lane;   /**< 4g + t */
    int g;      /**< which 8 columns */
    int t;      /**< which 16 rows of W */
    int warp_m; /**< which rows of the tile */
    int warp_n; /**< which strip of the tile */
    int warp_k; /**< which slice of a stage */
};

/** @brief The place of a thread: threads that follow each other have one slice. */
template <typename SIZE> __device__ inline struct place place_of(int thread)
{
    int warp = thread / WARP, lane = thread % WARP;
    return {lane,
            lane / 4,
            lane % 4,
            warp / SIZE::WARPS_N % SIZE::WARPS_M,
            warp % SIZE::WARPS_N,
            warp / (SIZE::WARPS_N * SIZE::WARPS_M)};
}

#endif

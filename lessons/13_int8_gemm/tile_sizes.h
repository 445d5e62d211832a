/**
 * @file tile_sizes.h
 * @brief Given in lesson 13: the tile of a block, the part of it that a warp computes, and the stages.
 */
#ifndef WARPWISE_TILE_SIZES_H
#define WARPWISE_TILE_SIZES_H

/** @brief Sizes that do not depend on the tile. Elements are bytes, so a length along k is one in bytes, too. */
enum {
    WARP = 32,    /**< lanes */
    CHUNK = 16,   /**< bytes that one instruction copies; a row of an ldmatrix */
    MMA = 16,     /**< rows of A, and columns of B, of one fragment */
    MMA_K = 32,   /**< depth of one multiply_add() */
    TILE_K = 128, /**< depth of a tile: a line of all 32 banks of shared memory */
    STEPS = TILE_K / MMA_K,
    MOST_STAGES = 4, /**< tiles under way or being multiplied */
    RASTER_ROWS = 8  /**< rows of tiles of C that are worked on at the same time (rasterization.h) */
};

/** @brief Sizes of tiles. */
template <int TILE_M_, int TILE_N_, int WARP_M_, int WARP_N_, int MIN_BLOCKS_> struct tile_sizes {
    enum {
        TILE_M = TILE_M_,         // rows of C that a block computes
        TILE_N = TILE_N_,         // columns
        WARP_M = WARP_M_,         // rows that a warp computes
        WARP_N = WARP_N_,         // columns
        MIN_BLOCKS = MIN_BLOCKS_, // of an SM: bounds the registers of a thread
        FRAGMENTS_M = WARP_M / MMA,
        FRAGMENTS_N = WARP_N / MMA,
        WARPS_N = TILE_N / WARP_N,
        THREADS = TILE_M / WARP_M * WARPS_N * WARP,
        A_BYTES = TILE_M * TILE_K, // of a tile of A in shared memory
        STAGE_BYTES = A_BYTES + TILE_N * TILE_K
    };
    static_assert(WARP_M % MMA == 0 && WARP_N % MMA == 0, "a warp computes whole fragments");
    static_assert(FRAGMENTS_N % 2 == 0 && STEPS % 2 == 0, "two buffers of fragments alternate");
    static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "warps have equal shares");
    static_assert(TILE_M % 64 == 0 && TILE_N % 64 == 0, "swizzled() takes rows of 64 bytes or more");
    static_assert(STAGE_BYTES / CHUNK % THREADS == 0, "threads copy equal shares");
};

/** @brief For a C of few tiles. */
typedef struct tile_sizes<64, 64, 32, 32, 3> small_tile;
/** @brief For all others: 128 sums per thread, and 170 operations for each byte that is copied. */
typedef struct tile_sizes<128, 256, 64, 64, 1> large_tile;

#endif

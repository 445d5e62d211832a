/**
 * @file tile_sizes.h
 * @brief Given in lesson 10: the tile sizes of a block, of a warp and of a thread, and which of them belong together.
 */
#ifndef WARPWISE_TILE_SIZES_H
#define WARPWISE_TILE_SIZES_H

/** @brief Sizes that do not depend on the tile. */
enum {
    WARP = 32,   /**< lanes */
    VECTOR = 4,  /**< elements that one load brings, from device memory or from shared memory */
    PAD = 4,     /**< floats after each row of a tile: the next row begins 4 banks further */
    PATCH_K = 8, /**< elements of a row that neighbouring lanes load together: in f32 a sector of 32 bytes */
    RASTER_ROWS = 8 /**< rows of tiles of C that are worked on at the same time (rasterization.h) */
};

/** @brief Sizes of tiles, from the block down to the thread. */
template <int TILE_M_, int TILE_N_, int TILE_K_, int WARP_M_, int WARP_N_, int THREAD_M_, int THREAD_N_,
          int MIN_BLOCKS_>
struct tile_sizes {
    enum {
        TILE_M = TILE_M_,            // rows of C that a block computes
        TILE_N = TILE_N_,            // columns
        TILE_K = TILE_K_,            // how deep a tile of A or B is
        WARP_M = WARP_M_,            // rows that a warp computes
        WARP_N = WARP_N_,            // columns
        THREAD_M = THREAD_M_,        // rows that a thread computes: groups of VECTOR
        THREAD_N = THREAD_N_,        // columns
        MIN_BLOCKS = MIN_BLOCKS_,    // of an SM: bounds the registers of a thread
        LANES_M = WARP_M / THREAD_M, // a warp is so many lanes down
        LANES_N = WARP_N / THREAD_N, // by so many lanes across
        WARPS_N = TILE_N / WARP_N,
        WARPS = TILE_M / WARP_M * WARPS_N,
        THREADS = WARPS * WARP
    };
    static_assert(WARP_M % THREAD_M == 0 && WARP_N % THREAD_N == 0, "lanes have equal shares");
    static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "warps have equal shares");
    static_assert((int)LANES_M * (int)LANES_N == (int)WARP, "a warp has 32 lanes");
    static_assert(LANES_M % 2 == 0 && LANES_N % 2 == 0, "lane_row() counts in pairs");
    static_assert(THREAD_M % VECTOR == 0 && THREAD_N % VECTOR == 0, "a lane reads vectors");
    static_assert(TILE_K % PATCH_K == 0 && TILE_K % 2 == 0,
                  "patches fill a tile; the fragments of two k alternate");
};

/** @brief For a C of few tiles. */
typedef struct tile_sizes<64, 64, 16, 32, 32, 8, 4, 4> small_tile;
/** @brief For all others. */
typedef struct tile_sizes<256, 128, 8, 64, 64, 16, 8, 1> large_tile;

/**
 * @brief How many of @p extent rows or columns are a rim: more than whole large tiles have, but no more than a small one. It gets
 * small tiles: a large one of which a single column is there takes as long as any other.
 */
inline int rim_of(int extent, int large, int small)
{
    return extent > large && extent % large <= small ? extent % large : 0;
}

/**
 * @brief Whether single floats are copied to shared memory, past the registers: it spares their stores, four times as many as those
 * of vectors. Not in small tiles, where such copies take longer.
 */
template <typename T, typename SIZE, int ELEMS> __device__ constexpr bool is_copied()
{
    return ELEMS == 1 && sizeof(T) == sizeof(float) && (int)SIZE::MIN_BLOCKS == 1;
}

#endif

/**
 * @file tile_sizes.h
 * @brief Given in lesson 20: the tile of a block, what its warps share, and a slice of it in shared memory.
 */
#ifndef WARPWISE_TILE_SIZES_H
#define WARPWISE_TILE_SIZES_H

#include "w4a16_args.h"
#include "warp_pairs.h" /* prefetch_l2() */

/** @brief Sizes that do not depend on the tile. */
enum {
    WARP = 32,
    THREADS = 256,    /**< of a block that shuffles, or adds parts */
    SLICE = W4_SLICE, /**< depth of a slice of k, and columns of a strip of W */
    CHUNK = 8,        /**< elements of 16 bytes: what one instruction copies */
    ROW_CHUNKS = SLICE / CHUNK,
    STRIP_BLOCKS = 4, /**< of 16 columns, in a strip: a lane's 16 bytes are of one of them */
    SLICE_CHUNKS = STRIP_BLOCKS * WARP, /**< 16 bytes each, in a slice of a strip */
    BLOCKS = 2,                         /**< of a strip's that a warp takes: half of it */
    COLUMNS = 32,                       /**< of W that a warp takes */
    LANE_COLUMNS = 4,                   /**< of W, neighbours, that a lane takes */
    MMA_ROWS = 8,            /**< rows of A in one multiply_add(): W stands on its left, with 16 columns */
    MOST_OF_SOME_ROWS = 128, /**< of A, for which tiles of 64 x 128 are better than 128 x 256 */
    AT_ONCE = 4,             /**< fragments of A that a lane of part "tensor" loads at once */
    STAGES = 4,              /**< under way or being multiplied */
    RASTER_ROWS = 8          /**< rows of tiles of C that are worked on at the same time (rasterization.h) */
};

/** @brief Sizes of part "vector": as many warps as registers suffice for, all along k. */
enum {
    VECTOR_WARPS = 16,
    VECTOR_THREADS = WARP * VECTOR_WARPS,
    AHEAD =
        2 /**< slices that a warp has loaded before it multiplies the first; in part "tensor" it asks for so many */
};

/** @brief Warps of a block of part "tensor": all have its rows; WARPS_N have different columns, WARPS_K different slices of k. */
template <int FRAGMENTS_, int WARPS_N_, int WARPS_K_> struct tile_sizes {
    enum {
        FRAGMENTS = FRAGMENTS_, // of A
        WARPS_N = WARPS_N_,
        WARPS_K = WARPS_K_,
        THREADS = WARP * WARPS_N * WARPS_K,
        TILE_M = FRAGMENTS * MMA_ROWS,
        TILE_N = WARPS_N * COLUMNS,
        SUMS = FRAGMENTS * BLOCKS * 4 // of a lane
    };
    static_assert(FRAGMENTS % AT_ONCE == 0, "fragments are loaded in whole lots");
};

typedef struct tile_sizes<8, 4, 2> some_rows;  /**< more blocks: up to MOST_OF_SOME_ROWS rows */
typedef struct tile_sizes<16, 8, 1> many_rows; /**< fewer instructions: 128 sums per thread */

/** @brief A slice of A in shared memory. */
template <typename SIZE> struct slice {
    uint4 a[SIZE::TILE_M][ROW_CHUNKS]; ///< chunk c of row r is at c ^ r % 8
};

/** @brief A matrix product, or a part of k of one. */
struct product {
    struct w4a16_args args; /**< what the entry point was given */
    int tiles_m;            /**< rows of tiles of C, in part "tensor" */
    int tiles_n;            /**< columns of tiles of C, or half strips */
    float *partial;         /**< [splits, m, n], or NULL: C is written */
};

/** @brief The slices of k that a block takes. */
struct part {
    int split; /**< its number */
    int begin; /**< first slice */
    int end;   /**< first that it does not take */
};

/** @brief What a lane multiplies of one slice of W: 16 weights of each of its four columns, and what belongs to them. */
struct lane_weights {
    uint4 w[BLOCKS]; /**< by block */
    uint2 scales;    /**< four, of T */
    uint32_t zeros;  /**< the lowest four of eight */
};

/** @brief What a lane of part "vector" loads of one slice. */
template <int FRAGMENTS> struct vector_slice {
    struct lane_weights w; /**< its words, scales and zeros */
    uint4 a[2][FRAGMENTS]; /**< of rows g, g + 8, ... of A: 16 elements, in two chunks */
};

/** @brief Where a lane stands: it has rows 16t .. 16t + 15 of a slice of W. */
struct place {
    int lane;     /**< 4g + t */
    int g;        /**< which 8 columns of a strip */
    int t;        /**< which 16 rows of W */
    int column;   /**< first of its four columns, as far as they can be read: past n the last ones */
    size_t words; /**< where its first 16 bytes of slice 0 lie, counted in 16 bytes */
};

/** @brief First of the four columns of the lanes with @p g, in half strip number @p half. */
__device__ inline int column_of(int half, int g)
{
    return half / 2 * SLICE + g * CHUNK + half % 2 * LANE_COLUMNS;
}

/** @brief The place of this lane, if its warp takes half strip number @p half; past the last, it reads the last strip. */
__device__ inline struct place place_of(const struct w4a16_args &args, int half)
{
    int lane = (int)threadIdx.x % WARP, column = column_of(half, lane / 4);
    size_t strip = (size_t)(min(half / 2 * SLICE, args.n - 1) / SLICE);
    return {lane, lane / 4, lane % 4, min(column, args.n - CHUNK + column % CHUNK),
            strip * (size_t)(args.k / SLICE) * SLICE_CHUNKS + (size_t)(half % 2 * BLOCKS * WARP + lane)};
}

/** @brief The group of row @p row of W, without a division: a group is 32, 64 or 128 rows, or all. */
__device__ inline int group_of(const struct w4a16_args &args, int row)
{
    return args.group == args.k ? 0 : row >> (__ffs(args.group) - 1);
}

/**
 * @brief Asks the L2 cache for a warp's slices from @p at to before @p end, @p step apart. That needs no wait for the kernel before: a
 *        hint changes no value.
 */
__device__ inline void prefetch_weights(const struct w4a16_args &args, int at, int end, int step,
                                        const struct place &place)
{
    for (; at < end; at += step) {
        int group = group_of(args, at * SLICE + place.t * 16);
        prefetch_l2((const uint4 *)args.weights + place.words + place.lane + (size_t)at * SLICE_CHUNKS);
        prefetch_l2((const uint16_t *)args.scales + (size_t)group * args.n + place.column);
        prefetch_l2(args.zeros + (size_t)group * (args.n / 8) + place.column / 8);
    }
}

/** @brief Row 2t or 2t + 1 of a lane's sums of eight rows: four columns. */
__device__ inline float4 row_of(const float sum[BLOCKS][4], int odd)
{
    return make_float4(sum[0][odd], sum[0][2 + odd], sum[1][odd], sum[1][2 + odd]);
}

/** @brief The sums of four columns. */
__device__ inline float4 add_four(float4 x, float4 y)
{
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

#endif

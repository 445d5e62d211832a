/**
 * @file thread_places.h
 * @brief Given in lesson 10: which elements of a tile a thread loads, and which sums of its warp a lane has.
 */
#ifndef WARPWISE_THREAD_PLACES_H
#define WARPWISE_THREAD_PLACES_H

#include "tile_sizes.h"

/** @brief Unit first + i * STEP of a rectangle that is COUNT units wide. @p first is less than STEP. */
template <int STEP, int COUNT> __device__ inline void place_unit(int first, int i, int *column, int *row)
{
    static_assert(STEP % COUNT == 0 || COUNT % STEP == 0, "or steps would not end where rows do");
    *column = STEP % COUNT == 0 ? first % COUNT : first + i * STEP % COUNT;
    *row = STEP % COUNT == 0 ? first / COUNT + i * (STEP / COUNT) : i * STEP / COUNT;
}

/**
 * @brief Where pack @p i of this thread lies in the tile: @p c along C, @p k along k. Neighbouring lanes take
 * neighbours in memory. Along k, a warp takes a patch PATCH_K wide, since its packs will be scattered over as
 * many rows of shared memory: with rows 4 banks apart, all 32 lanes then store into different banks.
 */
template <typename SIZE, int EXTENT, int ELEMS>
__device__ inline void find_pack(int along_k, int i, int *c, int *k)
{
    int thread = (int)threadIdx.x;
    if (along_k) {
        constexpr int ACROSS = PATCH_K / ELEMS, DOWN = WARP / ACROSS; // lanes of a patch
        place_unit<SIZE::WARPS, EXTENT / DOWN>(thread / WARP, i, c, k);
        *c = *c * DOWN + thread % WARP / ACROSS;
        *k = *k * PATCH_K + thread % ACROSS * ELEMS;
    } else {
        place_unit<SIZE::THREADS, EXTENT / ELEMS>(thread, i, c, k);
        *c *= ELEMS;
    }
}

/**
 * @brief Which row of lanes a lane of a warp is in. Lanes i and i ^ 1 share a column, lanes i and i ^ 2 a row: a 16-byte load
 * from shared memory then takes 2 wavefronts; it takes 4 where neither pair shares its address (lesson 05).
 */
template <typename SIZE> __device__ inline int lane_row()
{
    int lane = (int)threadIdx.x % WARP;
    return lane % 2 + lane / 4 % (SIZE::LANES_M / 2) * 2;
}
/** @brief Which column of lanes a lane is in. */
template <typename SIZE> __device__ inline int lane_column()
{
    int lane = (int)threadIdx.x % WARP;
    return lane / 2 % 2 + lane / 4 / (SIZE::LANES_M / 2) * 2;
}

#endif

/**
 * @file lane_places.h
 * @brief Given in lesson 05: how a warp's 4 x 8 lanes are laid out, and which rows, keys and columns a lane has.
 *
 * Lanes i and i ^ 1 share a column, lanes i and i ^ 2 a row: a 16-byte load from shared memory then takes 2 wavefronts;
 * it takes 4 where neither pair shares its address.
 */
#ifndef WARPWISE_LANE_PLACES_H
#define WARPWISE_LANE_PLACES_H

#include <cuda_runtime.h>

/** @brief Lanes and warps. */
enum {
    WARP = 32,              /**< lanes */
    WARPS = 4,              /**< of a block; each has rows of its own */
    THREADS = WARPS * WARP, /**< of a block */
    ROW_LANES = 4,          /**< a warp is 4 lanes down its rows ... */
    COLUMN_LANES = 8        /**< ... by 8 lanes across the keys of S, later across the columns of O */
};

/** @brief The first of a thread's rows within the tile; the others follow ROW_LANES apart. */
template <int WARP_ROWS> __device__ inline int first_row(void)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    return warp * WARP_ROWS + lane % 2 + lane / 16 * 2;
}

/** @brief The first of a thread's keys within the tile, and a quarter of its first column. */
__device__ inline int column_lane(void)
{
    return (int)threadIdx.x % 16 / 2;
}

#endif

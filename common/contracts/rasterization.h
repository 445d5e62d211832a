/**
 * @file rasterization.h
 * @brief Block rasterization: which tile of C a block takes, so that blocks that run together share tiles of A and B.
 *
 * A tile of A or B is cheap to load if another block has just brought it into the L2 cache. Blocks start in the order
 * of their numbers, so tiles are numbered down a band of a few rows of tiles, then to the next column:
 *
 *      bands of 2 rows     0 2 4 6        blocks 0 to 3 need 2 rows of tiles of A and 2 columns of tiles of B;
 *                          1 3 5 7        numbered along the rows of C they would need 1 and 4
 *                          8 . . .
 */
#ifndef WARPWISE_RASTERIZATION_H
#define WARPWISE_RASTERIZATION_H

#include <cuda_runtime.h>

/** @brief Which tile of a matrix: its row and its column, counted in tiles. */
struct tile_index {
    int row;    /**< from the top */
    int column; /**< from the left */
};

/**
 * @brief The tile that block @p block takes.
 *
 * @tparam RASTER_ROWS rows of tiles in a band
 * @param block   number of the block, 0 to tiles_m * tiles_n - 1
 * @param tiles_m rows of tiles
 * @param tiles_n columns of tiles
 */
template <int RASTER_ROWS>
__device__ inline struct tile_index raster_tile(int block, int tiles_m, int tiles_n)
{
    int band = block / (RASTER_ROWS * tiles_n), within = block % (RASTER_ROWS * tiles_n);
    int rows = min(tiles_m - band * RASTER_ROWS, RASTER_ROWS); // the last band may have fewer
    return {band * RASTER_ROWS + within % rows, within / rows};
}

#endif

/**
 * @file realigned_rows.h
 * @brief Given in lesson 09, for rows that begin anywhere: how far off its place a row arrives, and the shift back.
 *
 * A copy of 16 bytes goes from a multiple of 16 to a multiple of 16. So all chunks that touch a row are copied, one more
 * than the tile has, and the row arrives up to 7 halves too far right. When it has landed, it is shifted in place:
 *
 *      device memory     | . . . a0 a1 a2 a3 a4 | a5 a6 ...        the row begins 3 halves after a multiple of 16 bytes
 *      tile, landed      | . . . a0 a1 a2 a3 a4 | a5 a6 ... | pad  at the dots is what stands before the row
 *      tile, realigned   | a0 a1 a2 a3 a4 a5 a6 a7 | ...
 */
#ifndef WARPWISE_REALIGNED_ROWS_H
#define WARPWISE_REALIGNED_ROWS_H

#include "block_tile.h"

/** @brief Halves from the last multiple of 16 bytes to @p element: so much too far right a row arrives. */
__device__ inline int misalignment_of(const half *element)
{
    return (int)((uintptr_t)element / sizeof(half) % CHUNK);
}

/** @brief Makes of 16 halves the 8 from number @p shift on, and clears those of them that are not among @p left. */
__device__ inline void shift_left(unsigned word[CHUNK], int shift, int left)
{
    if (shift & 4)
        for (int w = 0; w < 6; w++) word[w] = word[w + 2];
    if (shift & 2)
        for (int w = 0; w < 5; w++) word[w] = word[w + 1];
    for (int w = 0; w < 4; w++) word[w] = __funnelshift_r(word[w], word[w + 1], shift % 2 * 16u);
    if (left < CHUNK)
        for (int w = 0; w < 4; w++) word[w] &= left > 2 * w + 1 ? 0xffffffff : left > 2 * w ? 0xffff : 0;
}

#endif

/**
 * @file warp_reduce.h
 * @brief Reductions of several values at a time over the 32 lanes of a warp. All lanes must call them.
 *
 * A shuffle takes its time; doing all values side by side lets the next one start before the last one has arrived.
 */
#ifndef WARPWISE_WARP_REDUCE_H
#define WARPWISE_WARP_REDUCE_H

#include <cuda_runtime.h>

/** @brief Each of COUNT values becomes the largest of the warp, in every lane. */
template <int COUNT> __device__ inline void warp_max(float value[COUNT])
{
    for (int distance = 16; distance > 0; distance /= 2)
        for (int i = 0; i < COUNT; i++)
            value[i] = fmaxf(value[i], __shfl_xor_sync(0xffffffffu, value[i], distance));
}

/** @brief Each of COUNT values becomes the sum over the warp, in every lane. */
template <int COUNT> __device__ inline void warp_sum(float value[COUNT])
{
    for (int distance = 16; distance > 0; distance /= 2)
        for (int i = 0; i < COUNT; i++) value[i] += __shfl_xor_sync(0xffffffffu, value[i], distance);
}

#endif

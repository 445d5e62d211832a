/**
 * @file kernel_launch.h
 * @brief What an entry point needs to launch a kernel: how many blocks, what the device has, how the launch went.
 */
#ifndef WARPWISE_KERNEL_LAUNCH_H
#define WARPWISE_KERNEL_LAUNCH_H

#include <cuda_runtime.h>

#include "kernel_status.h"

/** @brief How many tiles of @p size cover @p extent. */
__host__ __device__ inline int divide_up(int extent, int size)
{
    return extent / size + (extent % size != 0);
}

/** @brief How the launch just made went. Does not wait for the kernel. */
inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** @brief An attribute of the current device; 0 if it cannot be had. Does not wait for the device. */
inline int device_attribute(enum cudaDeviceAttr attribute)
{
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

#endif

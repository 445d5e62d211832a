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

/** @brief launch_early_with() in clusters of @p cluster blocks. */
template <typename... Params, typename... Args>
inline enum kernel_status launch_early_in_clusters(int cluster, size_t shared, void (*kernel)(Params...),
                                                   dim3 grid, dim3 block, cudaStream_t stream, Args... args)
{
    struct cudaFuncAttributes code;
    if (cudaFuncGetAttributes(&code, kernel) != cudaSuccess) return KERNEL_CUDA_ERROR;
    cudaLaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (code.ptxVersion >= 90) { // code for older GPUs does not wait
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
        attributes[count].id = cudaLaunchAttributeClusterDimension;
        attributes[count].val.clusterDim.x = (unsigned)cluster;
        attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
        count++;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = count;
    return cudaLaunchKernelEx(&config, kernel, Params(args)...) == cudaSuccess ? KERNEL_OK
                                                                               : KERNEL_CUDA_ERROR;
}

/** @brief launch_early() with @p shared bytes of dynamic shared memory, which the kernel must have been allowed before. */
template <typename... Params, typename... Args>
inline enum kernel_status launch_early_with(size_t shared, void (*kernel)(Params...), dim3 grid, dim3 block,
                                            cudaStream_t stream, Args... args)
{
    return launch_early_in_clusters(1, shared, kernel, grid, block, stream, args...);
}

/**
 * @brief Launches a kernel that may start while the one before it in the stream still runs, and that calls
 *        wait_for_kernel_before(): its launch then costs no time of its own. On GPUs before sm_90 it starts afterwards.
 * @see programmatic dependent launch in the CUDA programming guide
 */
template <typename... Params, typename... Args>
inline enum kernel_status launch_early(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream,
                                       Args... args)
{
    return launch_early_with(0, kernel, grid, block, stream, args...);
}

/** @brief The kernel after this one in the stream may start if it is launched early, once all blocks have called this. */
__device__ inline void let_next_start(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/** @brief Waits until the kernel before this one in the stream is over, and what it wrote can be read. */
__device__ inline void wait_for_kernel_before(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

#endif

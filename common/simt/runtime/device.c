/**
 * @file device.c
 * @brief What the software device says about itself. SIMT_DEVICE chooses whose limits it has.
 */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

static const struct device_limits devices[] = {
    {75, 40, 1024, 16, 64 * 1024, 64 * 1024, 0, 4 << 20, 256},
    {80, 108, 2048, 32, 164 * 1024, 163 * 1024, 1024, 40 << 20, 5120},
    {90, 132, 2048, 32, 228 * 1024, 227 * 1024, 1024, 50 << 20, 5120},
};

const struct device_limits *device_limits(void)
{
    int capability = simt_compute_capability();
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        if (devices[i].capability == capability) return &devices[i];
    return &devices[2];
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL) return runtime_result(cudaErrorInvalidValue);
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (device == NULL) return runtime_result(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device != 0) return runtime_result(cudaErrorInvalidDevice);
    return runtime_lost();
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    (void)device_flags;
    (void)flags;
    return cudaSetDevice(device);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    (void)flags;
    return runtime_lost();
}

/** The parts of the answer that are the same whatever SIMT_DEVICE says. */
static void describe_common(struct cudaDeviceProp *p)
{
    size_t free_bytes, total_bytes;
    simt_device_memory(&free_bytes, &total_bytes);
    p->totalGlobalMem = total_bytes;
    p->sharedMemPerBlock = SHARED_PER_BLOCK;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = WARP_LANES;
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = THREADS_PER_BLOCK;
    p->maxThreadsDim[2] = BLOCK_Z_LIMIT;
    p->maxGridSize[0] = (int)GRID_X_LIMIT;
    p->maxGridSize[1] = p->maxGridSize[2] = GRID_YZ_LIMIT;
    p->totalConstMem = 65536;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->concurrentKernels = 1;
    p->asyncEngineCount = 1;
    p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = 1;
    p->globalL1CacheSupported = p->localL1CacheSupported = 1;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (properties == NULL) return runtime_result(cudaErrorInvalidValue);
    if (device != 0) return runtime_result(cudaErrorInvalidDevice);
    const struct device_limits *limits = device_limits();
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "Warpwise software device (sm_%d)",
             limits->capability);
    describe_common(properties);
    properties->major = limits->capability / 10;
    properties->minor = limits->capability % 10;
    properties->multiProcessorCount = limits->multiprocessors;
    properties->memoryBusWidth = limits->memory_bus_bits;
    properties->l2CacheSize = limits->l2_bytes;
    properties->maxThreadsPerMultiProcessor = limits->threads_per_multiprocessor;
    properties->maxBlocksPerMultiProcessor = limits->blocks_per_multiprocessor;
    properties->sharedMemPerMultiprocessor = limits->shared_per_multiprocessor;
    properties->sharedMemPerBlockOptin = limits->shared_per_block_optin;
    properties->reservedSharedMemPerBlock = limits->shared_reserved_per_block;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp p;
    if (value == NULL) return runtime_result(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDeviceProperties(&p, device);
    if (error != cudaSuccess) return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = p.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxBlockDimX:
        *value = p.maxThreadsDim[0];
        break;
    case cudaDevAttrMaxBlockDimY:
        *value = p.maxThreadsDim[1];
        break;
    case cudaDevAttrMaxBlockDimZ:
        *value = p.maxThreadsDim[2];
        break;
    case cudaDevAttrMaxGridDimX:
        *value = p.maxGridSize[0];
        break;
    case cudaDevAttrMaxGridDimY:
        *value = p.maxGridSize[1];
        break;
    case cudaDevAttrMaxGridDimZ:
        *value = p.maxGridSize[2];
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = (int)p.sharedMemPerBlock;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)p.sharedMemPerBlockOptin;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = (int)p.sharedMemPerMultiprocessor;
        break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
        *value = (int)p.reservedSharedMemPerBlock;
        break;
    case cudaDevAttrTotalConstantMemory:
        *value = (int)p.totalConstMem;
        break;
    case cudaDevAttrWarpSize:
        *value = p.warpSize;
        break;
    case cudaDevAttrMaxPitch:
        *value = (int)p.memPitch;
        break;
    case cudaDevAttrMaxRegistersPerBlock:
        *value = p.regsPerBlock;
        break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        *value = p.regsPerMultiprocessor;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = p.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        *value = p.maxBlocksPerMultiProcessor;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = p.memoryBusWidth;
        break;
    case cudaDevAttrL2CacheSize:
        *value = p.l2CacheSize;
        break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        *value = 1000000;
        break; /* kHz; times here are the host's */
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrStreamPrioritiesSupported:
        *value = 1;
        break;
    default:
        *value = 0;
        break;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return runtime_lost();
}

static size_t limit_values[] = {1024, 1 << 20, 8 << 20, 2, 2048};

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    RETURN_IF_LOST();
    if (value == NULL) return runtime_result(cudaErrorInvalidValue);
    if ((size_t)limit >= sizeof(limit_values) / sizeof(limit_values[0]))
        return runtime_result(cudaErrorUnsupportedLimit);
    *value = limit_values[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    RETURN_IF_LOST();
    if ((size_t)limit >= sizeof(limit_values) / sizeof(limit_values[0]))
        return runtime_result(cudaErrorUnsupportedLimit);
    limit_values[limit] = value;
    return cudaSuccess;
}

static enum cudaFuncCache cache_config = cudaFuncCachePreferNone;

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    RETURN_IF_LOST();
    if (config == NULL) return runtime_result(cudaErrorInvalidValue);
    *config = cache_config;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    RETURN_IF_LOST();
    cache_config = config;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can_access, int device, int peer)
{
    if (can_access == NULL) return runtime_result(cudaErrorInvalidValue);
    if (device != 0 || peer != 0) return runtime_result(cudaErrorInvalidDevice);
    *can_access = 0;
    return cudaSuccess;
}

/** Everything has been carried out already; what is left is to say how it went. */
cudaError_t cudaDeviceSynchronize(void)
{
    return runtime_result(runtime_lost());
}

cudaError_t cudaDeviceReset(void)
{
    simt_device_reset();
    runtime_forget_errors();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (version == NULL) return runtime_result(cudaErrorInvalidValue);
    *version = CUDART_VERSION / 10 * 10;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

/**
 * @file pools.c
 * @brief A device's one memory pool, where cudaMallocAsync takes memory; and advice on memory, which changes nothing here.
 */
#include "graph.h"

/* ---- the pool ------------------------------------------------------------------------------------------ */

/* Never looked into: its address is the handle. */
static char default_pool[SIMT_MOST_DEVICES];
static unsigned long long release_threshold;
static int may_reuse[3] = {1, 1, 1};

int pool_is_valid(cudaMemPool_t pool)
{
    for (int device = 0; device < simt_device_count(); device++)
        if ((const char *)pool == &default_pool[device]) return 1;
    return 0;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    RETURN_IF_LOST();
    if (pool == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    *pool = (cudaMemPool_t)(void *)&default_pool[device];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return cudaDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    RETURN_IF_LOST();
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    return runtime_result(pool_is_valid(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    RETURN_IF_LOST();
    if (!pool_is_valid(pool) || value == NULL) return runtime_result(cudaErrorInvalidValue);
    if (attribute >= cudaMemPoolReuseFollowEventDependencies &&
        attribute <= cudaMemPoolReuseAllowInternalDependencies)
        may_reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *(const int *)value;
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        release_threshold = *(const unsigned long long *)value;
    else if (attribute != cudaMemPoolAttrReservedMemHigh && attribute != cudaMemPoolAttrUsedMemHigh)
        return runtime_result(
            cudaErrorInvalidValue); /* the others are only to be read; these two are set to 0 */
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    size_t free_bytes, total_bytes;
    RETURN_IF_LOST();
    if (!pool_is_valid(pool) || value == NULL) return runtime_result(cudaErrorInvalidValue);
    simt_device_memory(&free_bytes, &total_bytes);
    if (attribute < cudaMemPoolReuseFollowEventDependencies || attribute > cudaMemPoolAttrUsedMemHigh)
        return runtime_result(cudaErrorInvalidValue);
    if (attribute <= cudaMemPoolReuseAllowInternalDependencies)
        *(int *)value = may_reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        *(unsigned long long *)value = release_threshold;
    else
        *(unsigned long long *)value = total_bytes - free_bytes;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep)
{
    (void)bytes_to_keep;
    RETURN_IF_LOST();
    return runtime_result(pool_is_valid(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- where managed memory should lie ------------------------------------------------------------------- */

static cudaError_t check_managed(const void *pointer, size_t bytes, struct cudaMemLocation location)
{
    RETURN_IF_LOST();
    if (pointer == NULL || bytes == 0 || !simt_host_may(pointer) || !simt_device_contains(pointer, bytes))
        return runtime_result(cudaErrorInvalidValue);
    if (location.type == cudaMemLocationTypeDevice && !device_is_valid(location.id))
        return runtime_result(cudaErrorInvalidDevice);
    return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream)
{
    if (flags != 0) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    return check_managed(pointer, bytes, location);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
        return runtime_result(cudaErrorInvalidValue);
    return check_managed(pointer, bytes, location);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned int flags)
{
    RETURN_IF_LOST();
    (void)bytes;
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return runtime_result(cudaErrorInvalidValue);
    return runtime_result(simt_host_may(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}

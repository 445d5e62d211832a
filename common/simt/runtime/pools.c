/**
 * @file pools.c
 * @brief The single memory pool of each device, from which cudaMallocAsync allocates.
 */
#include "graph.h"

/** The attributes of a device's pool; the struct's address is the handle. */
static struct memory_pool {
    unsigned long long release_threshold;
    int may_not_reuse[3];
} default_pool[SIMT_MOST_DEVICES];

int pool_device(cudaMemPool_t pool)
{
    for (int device = 0; device < simt_device_count(); device++)
        if ((const struct memory_pool *)(const void *)pool == &default_pool[device]) return device;
    return -1;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    RETURN_IF_LOST();
    if (pool == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    *pool = (cudaMemPool_t)(void *)&default_pool[device];
    return cudaSuccess;
}

/* An invalid device gives another error than for the default pool, as on hardware. */
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    RETURN_IF_LOST();
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidValue);
    return cudaDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    RETURN_IF_LOST();
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidValue);
    return runtime_result(pool_device(pool) == device ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    const int device = pool_device(pool);
    RETURN_IF_LOST();
    if (device < 0 || value == NULL) return runtime_result(cudaErrorInvalidValue);
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        default_pool[device].may_not_reuse[attribute - cudaMemPoolReuseFollowEventDependencies] =
            *(const int *)value == 0;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        default_pool[device].release_threshold = *(const unsigned long long *)value;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh: /* a write of 0 restarts the high watermark */
    case cudaMemPoolAttrUsedMemHigh:
        return runtime_result(*(const unsigned long long *)value == 0 ? cudaSuccess : cudaErrorInvalidValue);
    default: /* the other attributes are read-only */
        return runtime_result(cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    size_t free_bytes, total_bytes;
    const int device = pool_device(pool);
    RETURN_IF_LOST();
    if (device < 0 || value == NULL) return runtime_result(cudaErrorInvalidValue);
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *(int *)value =
            !default_pool[device].may_not_reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        *(unsigned long long *)value = default_pool[device].release_threshold;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent: /* all memory that is not free counts as the pool's */
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemCurrent:
    case cudaMemPoolAttrUsedMemHigh:
        simt_device_memory(&free_bytes, &total_bytes);
        *(unsigned long long *)value = total_bytes - free_bytes;
        return cudaSuccess;
    }
    return runtime_result(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep)
{
    (void)bytes_to_keep;
    RETURN_IF_LOST();
    return runtime_result(pool_device(pool) >= 0 ? cudaSuccess : cudaErrorInvalidValue);
}

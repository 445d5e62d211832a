/**
 * @file managed.c
 * @brief Placement of managed memory: advice, prefetching and attachment to streams. None of it has an effect
 *        here.
 */
#include "graph.h"

/** 1 if the @p bytes bytes from @p pointer on are managed memory. Pinned memory, which the host may
 *  access, too, is not. */
static int is_managed(const void *pointer, size_t bytes)
{
    struct cudaPointerAttributes attributes;
    return pointer != NULL && simt_device_contains(pointer, bytes) &&
           cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess &&
           attributes.type == cudaMemoryTypeManaged;
}

/** A device, the host, or, if @p nodes allows it, one of the host's NUMA nodes. */
static cudaError_t check_location(struct cudaMemLocation location, int nodes)
{
    switch (location.type) {
    case cudaMemLocationTypeDevice:
        return device_is_valid(location.id) ? cudaSuccess : cudaErrorInvalidDevice;
    case cudaMemLocationTypeHost:
        return cudaSuccess;
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
        return nodes ? cudaSuccess : cudaErrorInvalidValue;
    case cudaMemLocationTypeInvalid:
        break;
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (flags != 0 || bytes == 0 || !is_managed(pointer, bytes)) return runtime_result(cudaErrorInvalidValue);
    return runtime_result(check_location(location, 1));
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    RETURN_IF_LOST();
    if (bytes == 0 || !is_managed(pointer, bytes)) return runtime_result(cudaErrorInvalidValue);
    switch (advice) {
    case cudaMemAdviseSetReadMostly:
    case cudaMemAdviseUnsetReadMostly:
    case cudaMemAdviseUnsetPreferredLocation:
        return cudaSuccess; /* the location is ignored */
    case cudaMemAdviseSetPreferredLocation:
        return runtime_result(check_location(location, 1));
    case cudaMemAdviseSetAccessedBy:
    case cudaMemAdviseUnsetAccessedBy:
        return runtime_result(check_location(location, 0));
    }
    return runtime_result(cudaErrorInvalidValue);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned int flags)
{
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return runtime_result(cudaErrorInvalidValue);
    if (flags == cudaMemAttachSingle && (stream == NULL || stream == cudaStreamLegacy))
        return runtime_result(cudaErrorInvalidValue); /* the default stream is not a single stream */
    if (!is_managed(pointer, bytes > 0 ? bytes : 1) ||
        (bytes > 0 && simt_is_device_pointer(pointer) && simt_device_contains(pointer, bytes + 1)))
        return runtime_result(cudaErrorInvalidValue); /* only a whole allocation can be attached */
    return cudaSuccess;
}

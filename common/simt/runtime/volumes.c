/**
 * @file volumes.c
 * @brief Volumes: rows at a pitch, and slices, each of as many rows as the volume is high. Each slice is
 *        copied as a 2D copy.
 */
#include "graph.h"
#include "order.h"

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent)
{
    size_t rows;
    RETURN_IF_LOST();
    if (pointer == NULL) return runtime_result(cudaErrorInvalidValue);
    *pointer = make_cudaPitchedPtr(NULL, 0, extent.width, extent.height);
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return runtime_result(cudaErrorMemoryAllocation);
    return runtime_allocate_rows(&pointer->ptr, &pointer->pitch, extent.width, rows,
                                 CALLER_SITE("cudaMalloc3D"));
}

static int is_empty(struct cudaExtent extent)
{
    return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

static cudaError_t set_slices(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream, struct simt_site site)
{
    cudaError_t error = cudaSuccess;
    RETURN_IF_LOST();
    if (is_empty(extent)) return cudaSuccess;
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++) {
        char *slice = (char *)pointer.ptr + z * pointer.pitch * pointer.ysize;
        error = runtime_set((struct set_operation){slice, value, pointer.pitch, extent.width, extent.height},
                            stream, site);
    }
    return error;
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    return set_slices(pointer, value, extent, stream, CALLER_SITE("cudaMemset3DAsync"));
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
{
    return set_slices(pointer, value, extent, NULL, CALLER_SITE("cudaMemset3D"));
}

/** A part must lie within the rows and slices of its volume; otherwise parts of the next row or slice
 *  would be copied, too. */
static cudaError_t check_part(const struct cudaPitchedPtr *volume, struct cudaPos from,
                              struct cudaExtent extent)
{
    if (volume->ptr == NULL) return cudaErrorInvalidValue;
    if ((extent.height > 1 || extent.depth > 1) &&
        (from.x > volume->pitch || extent.width > volume->pitch - from.x))
        return cudaErrorInvalidPitchValue;
    if ((extent.depth > 1 || from.z > 0) &&
        (from.y > volume->ysize || extent.height > volume->ysize - from.y))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/** The first row of slice @p z of the part that begins at @p from. */
static char *slice_of(const struct cudaPitchedPtr *volume, struct cudaPos from, size_t z)
{
    return (char *)volume->ptr + from.x + volume->pitch * (from.y + volume->ysize * (from.z + z));
}

static cudaError_t copy_slices(const struct cudaMemcpy3DParms *p, cudaStream_t stream, struct simt_site site)
{
    RETURN_IF_LOST();
    if (p == NULL) return runtime_result(cudaErrorInvalidValue);
    if (p->srcArray != NULL || p->dstArray != NULL) return runtime_refuse(site, RECORD_SAYS_NO_ARRAY_VOLUMES);
    if ((unsigned)p->kind > cudaMemcpyDefault) return runtime_result(cudaErrorInvalidMemcpyDirection);
    if (is_empty(p->extent)) return cudaSuccess;
    cudaError_t error = check_part(&p->srcPtr, p->srcPos, p->extent);
    if (error == cudaSuccess) error = check_part(&p->dstPtr, p->dstPos, p->extent);
    for (size_t z = 0; z < p->extent.depth && error == cudaSuccess; z++) {
        const struct copy_operation c = {slice_of(&p->dstPtr, p->dstPos, z),
                                         slice_of(&p->srcPtr, p->srcPos, z),
                                         p->dstPtr.pitch,
                                         p->srcPtr.pitch,
                                         p->extent.width,
                                         p->extent.height,
                                         p->kind,
                                         NULL};
        error = runtime_copy(c, stream, site);
    }
    return runtime_result(error);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
    return copy_slices(parameters, stream, CALLER_SITE("cudaMemcpy3DAsync"));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    runtime_waits(CALLER_SITE("cudaMemcpy3D"));
    const cudaError_t error = copy_slices(parameters, NULL, CALLER_SITE("cudaMemcpy3D"));
    order_host_waits(NULL, simt_current_device());
    return error;
}

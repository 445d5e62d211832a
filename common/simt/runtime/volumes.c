/**
 * @file volumes.c
 * @brief Volumes: rows at a pitch, slices of as many rows as the volume is high. Each slice is moved as a 2D copy.
 */
#include "graph.h"

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent)
{
    RETURN_IF_LOST();
    if (pointer == NULL) return runtime_result(cudaErrorInvalidValue);
    *pointer = make_cudaPitchedPtr(NULL, 0, extent.width, extent.height);
    return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = cudaMemset2DAsync((char *)pointer.ptr + z * pointer.pitch * pointer.ysize, pointer.pitch,
                                  value, extent.width, extent.height, stream);
    return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
{
    return cudaMemset3DAsync(pointer, value, extent, NULL);
}

/** The row @p y of slice @p z of the part that begins at @p from. */
static char *row_of(const struct cudaPitchedPtr *volume, struct cudaPos from, size_t z)
{
    return (char *)volume->ptr + from.x + volume->pitch * (from.y + volume->ysize * (from.z + z));
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    RETURN_IF_LOST();
    if (p == NULL) return runtime_result(cudaErrorInvalidValue);
    if (p->srcArray != NULL || p->dstArray != NULL)
        return runtime_refuse(CALLER_SITE("cudaMemcpy3D"), "a CUDA array of three dimensions is");
    for (size_t z = 0; z < p->extent.depth && error == cudaSuccess; z++)
        error = cudaMemcpy2DAsync(row_of(&p->dstPtr, p->dstPos, z), p->dstPtr.pitch,
                                  row_of(&p->srcPtr, p->srcPos, z), p->srcPtr.pitch, p->extent.width,
                                  p->extent.height, p->kind, stream);
    return error;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    runtime_waits(CALLER_SITE("cudaMemcpy3D"));
    return cudaMemcpy3DAsync(parameters, NULL);
}

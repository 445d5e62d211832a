/**
 * @file tensor_maps.c
 * @brief On a GPU: the driver's cuTensorMapEncodeTiled(), for kernel files that call it. It is found at run time, so that a runner
 *        is linked with no driver, and starts where there is none.
 */
#ifndef WARPWISE_SIMT

#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDA_VERSION >= 12000

typedef CUresult encode_tiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                              const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                              CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                              CUtensorMapFloatOOBfill);

static encode_tiled *find_encoder(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                               cudaEnableDefault, &found);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? (encode_tiled *)function : NULL;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    encode_tiled *encode = find_encoder();
    if (encode == NULL) return CUDA_ERROR_NOT_SUPPORTED;
    return encode(map, type, rank, address, sizes, strides, box, element_strides, interleave, swizzle,
                  promotion, fill);
}

#endif
#endif

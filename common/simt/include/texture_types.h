/**
 * @file texture_types.h
 * @brief Textures are refused: enough is declared that a program using them builds and says so when it runs.
 */
#pragma once

#pragma GCC system_header

#include "cuda_runtime_api.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc { int x, y, z, w; enum cudaChannelFormatKind f; };

enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
};
struct cudaResourceViewDesc { int format; size_t width, height, depth; };

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description,
                                    const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *description, size_t width,
                            size_t height, unsigned int flags);
cudaError_t cudaFreeArray(cudaArray_t array);
#ifdef __cplusplus
}

static inline cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *description, size_t width,
                                          size_t height = 0)
{
    return cudaMallocArray(array, description, width, height, 0u);
}

static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind)
{
    return cudaChannelFormatDesc{x, y, z, w, kind};
}

template <typename T> static inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaChannelFormatDesc{8 * (int)sizeof(T), 0, 0, 0, cudaChannelFormatKindFloat};
}

#define SIMT_NO_TEXTURE(name)                                                                                \
    template <typename T, typename... Where> SIMT_OUTLINE T name(cudaTextureObject_t, Where...)              \
    {                                                                                                        \
        simt_refuse_in_kernel(SIMT_CALLER, #name, SIMT_MISUSE_TEXTURE);                                      \
    }
SIMT_NO_TEXTURE(tex1Dfetch)
SIMT_NO_TEXTURE(tex1D)
SIMT_NO_TEXTURE(tex2D)
SIMT_NO_TEXTURE(tex3D)
#undef SIMT_NO_TEXTURE
#endif

/**
 * @file decode_launch.h
 * @brief How the kernels of a decode step follow each other: part of decode_kernels.h, which says why.
 */
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "decode_model.h"

enum {
    DECODE_WARP = 32,
    DECODE_THREADS = 128, /* of a block; four warps, two outputs of a projection each */
    DECODE_BLOCKS = 4,    /* of a projection that fit on an SM: 128 registers per thread */
    DECODE_VECTOR = 8,    /* halves in 16 bytes: what a lane takes of a key, and of weights in a visit */
    DECODE_LOADS = 4,     /* visits whose weights a lane has under way */
    DECODE_SPAN = DECODE_WARP * DECODE_VECTOR, /* inputs that a warp takes in a visit */
    DECODE_FAR = DECODE_SPAN / 2,              /* from the first four inputs of a lane to the others */
    DECODE_ROWS = 4,                           /* rows that share a visit of the weights */
    DECODE_LANE_DIMS = 4,                      /* head_dim / 32 at most */
    DECODE_KEY_WARPS = 8,                      /* that share the keys of a row and head at most */
    DECODE_KEYS = 4                            /* of a group of lanes that are under way at once */
};
#define DECODE_EPSILON 1e-5f      /**< added to the mean square of a state */
#define DECODE_ROPE_BASE 10000.0f /**< of the angles that queries and keys are rotated by */

/** @brief How the launch just made went. Does not wait for the kernel. */
static inline enum kernel_status decode_launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/**
 * @brief The next kernel may start, as soon as all blocks have called this. It sees nothing of
 * them yet.
 */
static __device__ __forceinline__ void decode_start_next(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/** @brief Waits for the preceding kernel: from here on everything may be read and written. */
static __device__ __forceinline__ void decode_wait(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/** @brief x = the embedding of the row's token. */
static __global__ void decode_embed_kernel(const int *tokens,       // [rows]
                                           const __half *embedding, // [vocab, hidden]
                                           float *x,                // [rows, hidden]
                                           int hidden)
{
    decode_start_next();
    size_t row = blockIdx.y;
    int i = (int)(blockIdx.x * DECODE_THREADS + threadIdx.x);
    if (i >= hidden) return;
    x[row * (size_t)hidden + i] = __half2float(embedding[(size_t)tokens[row] * (size_t)hidden + i]);
}

/**
 * @brief Whether the code that this device runs waits: a kernel that does not must not start early. That is
 * so if it was compiled for sm_90 or more, whatever the device. Asks once.
 */
static inline int decode_waits(void)
{
    static int answer; /* 0: not asked */
    if (answer == 0) {
        struct cudaFuncAttributes embed;
        cudaError_t error = cudaFuncGetAttributes(&embed, decode_embed_kernel);
        answer = error == cudaSuccess && embed.ptxVersion >= 90 ? 1 : -1;
    }
    return answer > 0;
}

/** @brief The configuration of a launch: the caller's variable, since one member points to the other. */
struct decode_launch {
    cudaLaunchConfig_t config; /**< for cudaLaunchKernelEx */
    cudaLaunchAttribute early; /**< its only attribute */
};

/**
 * @brief Fills in @p launch: a kernel that may start before the preceding one is over, where it then waits.
 */
static inline const cudaLaunchConfig_t *decode_launch_early(struct decode_launch *launch, dim3 grid,
                                                            int threads, cudaStream_t stream)
{
    *launch = {};
    launch->early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    launch->early.val.programmaticStreamSerializationAllowed = 1;
    launch->config.gridDim = grid;
    launch->config.blockDim = dim3((unsigned)threads);
    launch->config.stream = stream;
    launch->config.attrs = &launch->early;
    launch->config.numAttrs = decode_waits() ? 1 : 0;
    return &launch->config;
}

/*
 * A correct solution of another shape: four lanes per element of C. They split k, so that the terms are added up
 * in another order than one after the other, and shuffles add up the lanes.
 */
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>

enum { LANES = 4, THREADS = 256, ELEMENTS = THREADS / LANES, MOST_BLOCKS = 1024 };

__device__ inline float to_float(float x)
{
    return x;
}
__device__ inline float to_float(__half x)
{
    return __half2float(x);
}
__device__ inline void store(float *to, float x)
{
    *to = x;
}
__device__ inline void store(__half *to, float x)
{
    *to = __float2half(x);
}

template <typename T> __global__ void gemm_kernel(struct gemm_args args)
{
    const T *a = (const T *)args.a, *b = (const T *)args.b;
    size_t a_row = args.trans_a ? 1 : (size_t)args.lda, a_k = args.trans_a ? (size_t)args.lda : 1;
    size_t b_k = args.trans_b ? 1 : (size_t)args.ldb, b_column = args.trans_b ? (size_t)args.ldb : 1;
    size_t count = (size_t)args.m * (size_t)args.n, lane = threadIdx.x % LANES;
    size_t most = (count - 1) / ELEMENTS * ELEMENTS; // all lanes of a warp make as many turns
    for (size_t first = (size_t)blockIdx.x * ELEMENTS; first <= most; first += (size_t)gridDim.x * ELEMENTS) {
        size_t at = first + threadIdx.x / LANES, i = at / (size_t)args.n, j = at % (size_t)args.n;
        float sum = 0.0f;
        if (args.alpha != 0.0f && at < count)
            for (size_t k = lane; k < (size_t)args.k; k += LANES)
                sum += to_float(a[i * a_row + k * a_k]) * to_float(b[k * b_k + j * b_column]);
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        if (lane > 0 || at >= count) continue;
        T *c = (T *)args.c + i * (size_t)args.ldc + j;
        store(c, args.alpha * sum + (args.beta != 0.0f ? args.beta * to_float(*c) : 0.0f));
    }
}

template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, int tile, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (tile < GEMM_TILE_AUTO || tile > GEMM_TILE_LARGE) return KERNEL_INVALID_CONFIG;
    size_t blocks = ((size_t)args->m * (size_t)args->n - 1) / ELEMENTS + 1;
    gemm_kernel<T>
        <<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS), THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status register_tiled_gemm_f32(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<float>(args, DTYPE_F32, (int)tile, stream);
}

enum kernel_status register_tiled_gemm_f16(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<__half>(args, DTYPE_F16, (int)tile, stream);
}

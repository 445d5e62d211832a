/*
 * A correct solution of another shape: one thread per element of C, no shared memory, sums in double. A
 * transpose is nothing but another pair of strides. The blocks walk over C in steps of the whole grid.
 */
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>

enum { THREADS = 128, MOST_BLOCKS = 1024 };

__device__ inline double to_double(float x)
{
    return (double)x;
}
__device__ inline double to_double(__half x)
{
    return (double)__half2float(x);
}
__device__ inline void store(float *to, double x)
{
    *to = (float)x;
}
__device__ inline void store(__half *to, double x)
{
    *to = __float2half((float)x);
}

template <typename T> __global__ void gemm_kernel(struct gemm_args args)
{
    const T *a = (const T *)args.a, *b = (const T *)args.b;
    size_t a_row = args.trans_a ? 1 : (size_t)args.lda, a_k = args.trans_a ? (size_t)args.lda : 1;
    size_t b_k = args.trans_b ? 1 : (size_t)args.ldb, b_column = args.trans_b ? (size_t)args.ldb : 1;
    size_t count = (size_t)args.m * (size_t)args.n, step = (size_t)gridDim.x * THREADS;
    for (size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x; at < count; at += step) {
        size_t i = at / (size_t)args.n, j = at % (size_t)args.n;
        double sum = 0.0;
        if (args.alpha != 0.0f)
            for (size_t k = 0; k < (size_t)args.k; k++)
                sum += to_double(a[i * a_row + k * a_k]) * to_double(b[k * b_k + j * b_column]);
        T *c = (T *)args.c + i * (size_t)args.ldc + j;
        double kept = args.beta != 0.0f ? (double)args.beta * to_double(*c) : 0.0;
        store(c, (double)args.alpha * sum + kept);
    }
}

template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, int tile, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (tile < GEMM_TILE_AUTO || tile > GEMM_TILE_LARGE) return KERNEL_INVALID_CONFIG;
    size_t blocks = ((size_t)args->m * (size_t)args->n - 1) / THREADS + 1;
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

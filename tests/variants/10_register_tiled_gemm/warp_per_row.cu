/*
 * A correct solution of another shape: a warp has 32 columns of one row of C, and k in two halves whose sums are added
 * at the end. No shared memory: a lane reads an element of A, and shuffles hand it to the others.
 */
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>

enum { WARP = 32, WARPS = 3, MOST_BLOCKS = 40 };

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

/* The terms from @p begin to before @p end of the element in column @p column of a row that begins at @p a. */
template <typename T>
__device__ inline float sum_of(const T *a, size_t a_k, const T *b, size_t b_k, int column, int columns,
                               int begin, int end)
{
    int lane = (int)threadIdx.x;
    float sum = 0.0f;
    for (int k = begin; k < end; k += WARP) {
        float own = k + lane < end ? to_float(a[(size_t)(k + lane) * a_k]) : 0.0f;
        for (int p = 0; p < WARP && k + p < end; p++) {
            float x = __shfl_sync(0xffffffffu, own, p);
            if (column < columns) sum += x * to_float(b[(size_t)(k + p) * b_k]);
        }
    }
    return sum;
}

template <typename T> __global__ void gemm_kernel(struct gemm_args args)
{
    size_t across = ((size_t)args.n - 1) / WARP + 1, pieces = across * (size_t)args.m;
    int k = args.alpha != 0.0f ? args.k : 0;
    for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.y; at < pieces; at += (size_t)gridDim.x * WARPS) {
        size_t row = at / across, column = at % across * WARP + threadIdx.x;
        const T *a = (const T *)args.a + row * (args.trans_a ? 1 : (size_t)args.lda);
        const T *b = (const T *)args.b + column * (args.trans_b ? (size_t)args.ldb : 1);
        size_t a_k = args.trans_a ? (size_t)args.lda : 1, b_k = args.trans_b ? 1 : (size_t)args.ldb;
        float first = sum_of(a, a_k, b, b_k, (int)column, args.n, 0, k / 2);
        float second = sum_of(a, a_k, b, b_k, (int)column, args.n, k / 2, k);
        if (column >= (size_t)args.n) continue;
        T *to = (T *)args.c + row * (size_t)args.ldc + column;
        store(to, args.alpha * (first + second) + (args.beta != 0.0f ? args.beta * to_float(*to) : 0.0f));
    }
}

template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, int tile, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (tile < GEMM_TILE_AUTO || tile > GEMM_TILE_LARGE) return KERNEL_INVALID_CONFIG;
    gemm_kernel<T><<<MOST_BLOCKS, dim3(WARP, WARPS), 0, stream>>>(*args);
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

/*
 * A correct solution of another shape: one thread per element of C, a sum in double that is rounded once. A few blocks
 * walk over all of C, and nothing is fetched ahead.
 */
// covered-by: simple_order
#include "pipelined_gemm.h"

#include <cuda_fp16.h>

enum { THREADS = 96, MOST_BLOCKS = 50 };

static __global__ void product_kernel(struct gemm_args args)
{
    size_t count = (size_t)args.m * (size_t)args.n, step = (size_t)gridDim.x * THREADS;
    for (size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x; at < count; at += step) {
        size_t i = at / (size_t)args.n, j = at % (size_t)args.n;
        const half *a = (const half *)args.a + i * (size_t)args.lda, *b = (const half *)args.b + j;
        double sum = 0.0;
        for (int k = 0; k < args.k; k++, b += args.ldb)
            sum += (double)__half2float(a[k]) * (double)__half2float(*b);
        ((float *)args.c)[i * (size_t)args.ldc + j] = (float)sum;
    }
}

extern "C" enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > 4) return KERNEL_INVALID_CONFIG;
    size_t blocks = ((size_t)args->m * (size_t)args->n - 1) / THREADS + 1;
    product_kernel<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS), THREADS, 0, stream>>>(
        *args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

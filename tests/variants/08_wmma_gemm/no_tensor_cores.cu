/*
 * Variant: no fragments and no shared memory. A warp has 8 rows of C and 128 columns, a thread 8 x 4 elements of
 * them. Slow, and right: the contract asks for a product, not for tensor cores.
 */
#include "wmma_gemm.h"

#include <cuda_fp16.h>

enum { WARP = 32, ROWS = 8, EACH = 4, COLS = WARP * EACH };

static __global__ void product_kernel(struct gemm_args args)
{
    int across = (args.n - 1) / COLS + 1;
    int i = (int)blockIdx.x / across * ROWS, j = (int)blockIdx.x % across * COLS + (int)threadIdx.x;
    const half *a = (const half *)args.a + (size_t)i * args.lda;
    float *c = (float *)args.c + (size_t)i * args.ldc, sum[ROWS][EACH] = {};
    for (int p = 0; p < args.k; p++) {
        const half *b = (const half *)args.b + (size_t)p * args.ldb;
        float x[EACH] = {};
        for (int e = 0; e < EACH; e++)
            if (j + e * WARP < args.n) x[e] = __half2float(b[j + e * WARP]);
        for (int r = 0; r < ROWS && i + r < args.m; r++) {
            float y = __half2float(a[(size_t)r * args.lda + p]);
            for (int e = 0; e < EACH; e++) sum[r][e] += y * x[e];
        }
    }
    for (int r = 0; r < ROWS && i + r < args.m; r++)
        for (int e = 0; e < EACH; e++)
            if (j + e * WARP < args.n) c[(size_t)r * args.ldc + j + e * WARP] = sum[r][e];
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    int blocks = ((args->m - 1) / ROWS + 1) * ((args->n - 1) / COLS + 1);
    product_kernel<<<blocks, WARP, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

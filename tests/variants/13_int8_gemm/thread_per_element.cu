/*
 * A correct solution of another shape: a thread per element of C, no shared memory, products in int. Blocks walk over C in
 * steps of the whole grid.
 */
#include "plain_int8.h"

enum { THREADS = 128, MOST_BLOCKS = 512 };

__global__ void gemm_kernel(struct plain p)
{
    size_t n = (size_t)p.args.n, count = (size_t)p.args.m * n, step = (size_t)gridDim.x * THREADS;
    for (size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x; at < count; at += step) {
        size_t i = at / n, j = at % n;
        const int8_t *a = p.args.a + i * p.a_line, *b = p.args.b + j * p.b_line;
        int sum = 0;
        for (size_t k = 0; k < (size_t)p.args.k; k++) sum += a[k * p.a_p] * b[k * p.b_p];
        plain_store(p, (int)i, (int)j, sum);
    }
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream)
{
    size_t blocks = ((size_t)p.args.m * (size_t)p.args.n - 1) / THREADS + 1;
    gemm_kernel<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS), THREADS, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

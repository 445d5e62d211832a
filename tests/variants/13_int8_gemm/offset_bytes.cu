/*
 * A correct solution of another shape: bytes shifted to 0 .. 255, sums of unsigned products in 64 bits, and what the shift has
 * added taken away again: sum (a + 128)(b + 128) = sum a b + 128 sum a + 128 sum b + 16384 k. A block per row of C.
 */
#include "plain_int8.h"

enum { THREADS = 64, MOST_BLOCKS = 2048, SHIFT = 128 };

__global__ void gemm_kernel(struct plain p)
{
    const struct int8_gemm_args &args = p.args;
    for (long long i = blockIdx.x; i < args.m; i += gridDim.x) {
        const int8_t *a = args.a + (size_t)i * p.a_line;
        for (long long j = threadIdx.x; j < args.n; j += THREADS) {
            const int8_t *b = args.b + (size_t)j * p.b_line;
            long long products = 0, added = 0;
            for (size_t k = 0; k < (size_t)args.k; k++) {
                unsigned x = (unsigned)(a[k * p.a_p] + SHIFT), y = (unsigned)(b[k * p.b_p] + SHIFT);
                products += (long long)(x * y);
                added += SHIFT * (long long)(x + y);
            }
            plain_store(p, (int)i, (int)j, (int)(products - added + (long long)SHIFT * SHIFT * args.k));
        }
    }
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream)
{
    gemm_kernel<<<(unsigned)(p.args.m < MOST_BLOCKS ? p.args.m : (int)MOST_BLOCKS), THREADS, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

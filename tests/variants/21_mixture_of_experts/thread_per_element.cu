/*
 * A correct solution of another shape: a thread per element of C, and products one after another in float.
 */
#include "plain_experts.h"

enum { PLAIN_THREADS = 128, MOST_BLOCKS = 4096 };

__global__ void product_kernel(struct grouped_gemm_args p)
{
    size_t count = (size_t)p.rows * p.n, step = (size_t)gridDim.x * PLAIN_THREADS;
    for (size_t at = (size_t)blockIdx.x * PLAIN_THREADS + threadIdx.x; at < count; at += step) {
        int row = (int)(at / p.n), column = (int)(at % p.n);
        int expert = plain_expert(p.offsets, p.experts, row);
        if (expert < 0) continue;
        size_t line = (size_t)expert * (1 + p.swiglu) * p.n + column;
        float sum[2] = {};
        for (int half = 0; half <= p.swiglu; half++, line += p.n)
            for (int k = 0; k < p.k; k++)
                sum[half] += plain_load(p.a, (size_t)row * p.k + k, p.dtype) *
                             plain_load(p.w, line * p.k + k, p.dtype);
        plain_store(p.c, at, p.dtype, p.swiglu ? sum[0] / (1.0f + expf(-sum[0])) * sum[1] : sum[0]);
    }
}

static enum kernel_status plain_product(const struct grouped_gemm_args &args, cudaStream_t stream)
{
    size_t blocks = ((size_t)args.rows * args.n - 1) / PLAIN_THREADS + 1;
    product_kernel<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS), PLAIN_THREADS, 0,
                     stream>>>(args);
    return launch_status();
}

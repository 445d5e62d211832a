/*
 * A correct solution of another shape: a thread per element of C, sums on CUDA cores one term after the other.
 */
#include "plain_gemm.h"

enum { THREADS = 256, MOST_BLOCKS = 4096 };

template <typename T> __global__ void gemm_kernel(struct plain p)
{
    const T *a = (const T *)p.args.a, *b = (const T *)p.args.b;
    long long count = (long long)p.args.m * p.args.n;
    for (long long at = (long long)blockIdx.x * THREADS + threadIdx.x; at < count;
         at += (long long)gridDim.x * THREADS) {
        int i = (int)(at / p.args.n), j = (int)(at % p.args.n);
        float sum = 0.0f;
        for (int k = 0; k < p.k; k++)
            sum += plain_float(a[i * p.a_line + k * p.a_p]) * plain_float(b[j * p.b_line + k * p.b_p]);
        plain_store<T>(p, i, j, sum);
    }
}

template <typename T> static void plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long blocks = ((long long)p.args.m * p.args.n - 1) / THREADS + 1;
    gemm_kernel<T>
        <<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (long long)MOST_BLOCKS), THREADS, 0, stream>>>(p);
}

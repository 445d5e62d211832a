/*
 * A correct solution of another shape: one thread per element of C, weights unpacked one by one; scales are multiplied with
 * the sum of each group. No tensor cores, no shared memory, no workspace.
 */
#include "plain_w4.h"

template <typename T> __global__ void product_kernel(struct w4a16_args args)
{
    size_t count = (size_t)args.m * (size_t)args.n, step = (size_t)gridDim.x * PLAIN_THREADS;
    for (size_t at = blockIdx.x * (size_t)PLAIN_THREADS + threadIdx.x; at < count; at += step) {
        int column = (int)(at % (size_t)args.n);
        size_t row = at / (size_t)args.n;
        const T *a = (const T *)args.a + row * (size_t)args.lda;
        float sum = 0.0f;
        for (int first = 0; first < args.k; first += args.group) {
            float of_group = 0.0f, scale = 0.0f;
            for (int p = first; p < first + args.group; p++)
                of_group += plain_float(a[p]) * plain_weight<T>(args, p, column, &scale);
            sum += of_group * scale;
        }
        ((T *)args.c)[row * (size_t)args.ldc + (size_t)column] = T(sum);
    }
}

static enum kernel_status plain_product(const struct w4a16_args *args, cudaStream_t stream)
{
    if (args->dtype == DTYPE_F16)
        product_kernel<__half><<<1024, PLAIN_THREADS, 0, stream>>>(*args);
    else
        product_kernel<__nv_bfloat16><<<1024, PLAIN_THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

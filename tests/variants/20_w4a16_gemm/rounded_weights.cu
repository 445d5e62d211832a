/*
 * A correct solution of another shape: every weight is rounded to A's type first, as the contract allows; a block per column,
 * whose threads share k and add up in a tree.
 */
#include "plain_w4.h"

template <typename T> __global__ void product_kernel(struct w4a16_args args)
{
    __shared__ float sums[PLAIN_THREADS];
    int lane = (int)threadIdx.x;
    for (long long at = blockIdx.x; at < (long long)args.m * args.n; at += gridDim.x) {
        int column = (int)(at % args.n);
        const T *a = (const T *)args.a + (size_t)(at / args.n) * (size_t)args.lda;
        float sum = 0.0f;
        for (int p = lane; p < args.k; p += PLAIN_THREADS) {
            float scale, number = plain_weight<T>(args, p, column, &scale);
            sum += plain_float(a[p]) * plain_float(T(number * scale));
        }
        sums[lane] = sum;
        for (int half = PLAIN_THREADS / 2; half > 0; half /= 2) {
            __syncthreads(); // the sums of the step before are there
            if (lane < half) sums[lane] += sums[lane + half];
        }
        if (lane == 0) ((T *)args.c)[(size_t)(at / args.n) * (size_t)args.ldc + (size_t)column] = T(sums[0]);
        __syncthreads(); // the sum is written before the next one begins
    }
}

static enum kernel_status plain_product(const struct w4a16_args *args, cudaStream_t stream)
{
    if (args->dtype == DTYPE_F16)
        product_kernel<__half><<<2048, PLAIN_THREADS, 0, stream>>>(*args);
    else
        product_kernel<__nv_bfloat16><<<2048, PLAIN_THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

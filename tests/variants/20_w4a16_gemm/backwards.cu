/*
 * A correct solution of another shape: a warp per 32 columns of a row walks along k from the end to the beginning, and
 * multiplies the sum of a group by its scale.
 */
#include "plain_w4.h"

template <typename T> __global__ void product_kernel(struct w4a16_args args)
{
    int strips = (args.n + 31) / 32;
    for (long long at = blockIdx.x; at < (long long)args.m * strips; at += gridDim.x) {
        int column = (int)(at % strips) * 32 + (int)threadIdx.x;
        const T *a = (const T *)args.a + (size_t)(at / strips) * (size_t)args.lda;
        if (column >= args.n) continue;
        float sum = 0.0f, part = 0.0f, scale = 0.0f;
        for (int p = args.k - 1; p >= 0; p--) {
            part = fmaf(plain_float(a[p]), plain_weight<T>(args, p, column, &scale), part);
            if (p % args.group != 0) continue;
            sum = fmaf(part, scale, sum);
            part = 0.0f;
        }
        ((T *)args.c)[(size_t)(at / strips) * (size_t)args.ldc + (size_t)column] = T(sum);
    }
}

static enum kernel_status plain_product(const struct w4a16_args *args, cudaStream_t stream)
{
    if (args->dtype == DTYPE_F16)
        product_kernel<__half><<<2048, 32, 0, stream>>>(*args);
    else
        product_kernel<__nv_bfloat16><<<2048, 32, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/*
 * What the variants of lesson 13 share: the layouts as strides, the checks, and what becomes of a sum.
 */
#include "int8_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/** The product as a kernel wants it: op(A)[i, p] is a[i * a_line + p * a_p], op(B)[p, j] is b[j * b_line + p * b_p]. */
struct plain {
    struct int8_gemm_args args;
    size_t a_line, a_p, b_line, b_p;
    int scaled;
};

static struct plain plain_of(const struct int8_gemm_args *args, int scaled)
{
    struct plain p;
    p.args = *args;
    p.a_line = args->trans_a ? 1 : (size_t)args->lda, p.a_p = args->trans_a ? (size_t)args->lda : 1;
    p.b_line = args->trans_b ? (size_t)args->ldb : 1, p.b_p = args->trans_b ? 1 : (size_t)args->ldb;
    p.scaled = scaled;
    return p;
}

/** What both entry points check. */
static enum kernel_status plain_check(const struct int8_gemm_args *args, int scaled)
{
    int device = 0, major = 0;
    enum kernel_status status = int8_gemm_args_check(args, scaled);
    if (status != KERNEL_OK) return status;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major < 8 ? KERNEL_UNSUPPORTED_ARCHITECTURE : KERNEL_OK;
}

/** One element of C, from its sum. */
__device__ inline void plain_store(const struct plain &p, int i, int j, int sum)
{
    const struct int8_gemm_args &args = p.args;
    size_t at = (size_t)i * args.ldc + j;
    if (!p.scaled) {
        ((int *)args.c)[at] = sum;
        return;
    }
    float x = (float)sum * (args.row_scales[i] * args.column_scales[j]);
    if (args.bias != NULL) x += args.bias[j];
    if (args.dtype_out == DTYPE_F32)
        ((float *)args.c)[at] = x;
    else if (args.dtype_out == DTYPE_F16)
        ((__half *)args.c)[at] = __float2half(x);
    else
        ((__nv_bfloat16 *)args.c)[at] = __float2bfloat16(x);
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream);

enum kernel_status int8_gemm_s32(const struct int8_gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = plain_check(args, 0);
    return status == KERNEL_OK ? plain_launch(plain_of(args, 0), stream) : status;
}

enum kernel_status int8_gemm_dequantised(const struct int8_gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = plain_check(args, 1);
    return status == KERNEL_OK ? plain_launch(plain_of(args, 1), stream) : status;
}

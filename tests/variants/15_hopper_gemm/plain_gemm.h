/*
 * What the variants of lesson 15 share: the layouts as strides, the checks, and what becomes of a sum. Whoever includes it
 * defines plain_launch<T>().
 */
#include "hopper_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/** The product as a kernel wants it: op(A)[i, p] is a[i * a_line + p * a_p], op(B)[p, j] is b[j * b_line + p * b_p]. */
struct plain {
    struct gemm_args args;
    size_t a_line, a_p, b_line, b_p;
    int k; // 0 also where alpha is
};

template <typename T> static void plain_launch(const struct plain &p, cudaStream_t stream);

__device__ inline float plain_float(half x)
{
    return __half2float(x);
}
__device__ inline float plain_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
__device__ inline void plain_round(half *to, float x)
{
    *to = __float2half_rn(x);
}
__device__ inline void plain_round(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16_rn(x);
}

/** Element (i, j) from its sum. */
template <typename T> __device__ inline void plain_store(const struct plain &p, int i, int j, float sum)
{
    T *c = (T *)p.args.c + (size_t)i * p.args.ldc + j;
    float kept = p.args.beta != 0.0f ? p.args.beta * plain_float(*c) : 0.0f;
    plain_round(c, p.args.alpha * sum + kept);
}

template <typename T>
static enum kernel_status plain_gemm(const struct gemm_args *args, enum dtype dtype, cudaStream_t stream)
{
    int device = 0, major = 0;
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    if (major != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    struct plain p;
    p.args = *args;
    p.a_line = args->trans_a ? 1 : (size_t)args->lda, p.a_p = args->trans_a ? (size_t)args->lda : 1;
    p.b_line = args->trans_b ? (size_t)args->ldb : 1, p.b_p = args->trans_b ? 1 : (size_t)args->ldb;
    p.k = args->alpha != 0.0f ? args->k : 0;
    plain_launch<T>(p, stream);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status hopper_gemm_f16(const struct gemm_args *args, cudaStream_t stream)
{
    return plain_gemm<half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_gemm_bf16(const struct gemm_args *args, cudaStream_t stream)
{
    return plain_gemm<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

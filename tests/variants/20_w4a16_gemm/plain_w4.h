/**
 * @file plain_w4.h
 * @brief What unusual solutions of lesson 20 share: one number at a time, by the formulas of the contract.
 */
#pragma once

#include "w4a16_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { PLAIN_THREADS = 64 };

__device__ inline float plain_float(__half x)
{
    return __half2float(x);
}
__device__ inline float plain_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/** Number @p i of a word. */
__device__ inline int plain_number(uint32_t word, int i)
{
    return (int)(word >> 4 * i & 15);
}

/** q - zero of a weight, and its scale. */
template <typename T>
__device__ inline float plain_weight(const struct w4a16_args &args, int row, int column, float *scale)
{
    size_t slices = (size_t)args.k / 64, group = (size_t)(row / args.group), n = (size_t)args.n;
    size_t slice = (size_t)(column / 64) * slices + (size_t)(row / 64);
    int lane = column % 64 / 8 * 4 + row % 64 / 16;
    size_t word = ((slice * 4 + (size_t)(column % 8 / 2)) * 32 + (size_t)lane) * 4 + (size_t)(row % 16 / 4);
    *scale = plain_float(((const T *)args.scales)[group * n + (size_t)column]);
    return (float)(plain_number(args.weights[word], row % 2 * 4 + row % 4 / 2 * 2 + column % 2) -
                   plain_number(args.zeros[(group * n + (size_t)column) / 8], column % 8));
}

/** A thread per word, which it puts together with divisions of its own. */
__global__ void plain_shuffle_kernel(struct w4a16_shuffle_args args)
{
    size_t slices = (size_t)args.k / 64, words = (size_t)((args.n + 63) / 64) * slices * 512;
    for (size_t at = blockIdx.x * (size_t)PLAIN_THREADS + threadIdx.x; at < words;
         at += (size_t)gridDim.x * PLAIN_THREADS) {
        uint32_t word = 0;
        for (int i = 7; i >= 0; i--) {
            int column =
                (int)(at / 512 / slices) * 64 + (int)(at / 16 % 8) * 8 + (int)(at / 128 % 4) * 2 + i % 2;
            int row = (int)(at / 512 % slices) * 64 + (int)(at / 4 % 4) * 16 + (int)(at % 4) * 4 +
                      i % 4 / 2 * 2 + i / 4;
            word <<= 4;
            if (column >= args.n) continue;
            static const int places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
            word |= args.format == W4_GPTQ
                        ? (uint32_t)plain_number(args.qweight[(size_t)(row / 8) * args.n + column], row % 8)
                        : (uint32_t)plain_number(args.qweight[((size_t)row * args.n + column) / 8],
                                                 places[column % 8]);
        }
        args.weights[at] = word;
    }
    size_t zeros = (size_t)args.k / args.group * args.n / 8;
    for (size_t at = blockIdx.x * (size_t)PLAIN_THREADS + threadIdx.x; at < zeros;
         at += (size_t)gridDim.x * PLAIN_THREADS) {
        uint32_t word = 0;
        for (int i = 0; i < 8; i++) {
            int zero = 8;
            if (args.qzeros != NULL)
                zero = args.format == W4_GPTQ ? plain_number(args.qzeros[at], i) + 1
                                              : plain_number(args.qzeros[at], i / 2 + i % 2 * 4);
            word |= (uint32_t)(zero % 16) << 4 * i;
        }
        args.zeros[at] = word;
    }
}

static int plain_is_old(void)
{
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major < 8;
}

enum kernel_status w4a16_shuffle(const struct w4a16_shuffle_args *args, cudaStream_t stream)
{
    enum kernel_status status = w4a16_shuffle_args_check(args);
    if (status != KERNEL_OK) return status;
    if (plain_is_old()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    plain_shuffle_kernel<<<512, PLAIN_THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** The variant's own: any number of rows; @p partial as for w4a16_split(). */
static enum kernel_status plain_product(const struct w4a16_args *args, cudaStream_t stream);

static enum kernel_status plain_start(const struct w4a16_args *args, enum kernel_status status,
                                      cudaStream_t stream)
{
    if (status != KERNEL_OK) return status;
    return plain_is_old() ? KERNEL_UNSUPPORTED_ARCHITECTURE : plain_product(args, stream);
}

enum kernel_status w4a16_vector(const struct w4a16_args *args, cudaStream_t stream)
{
    return plain_start(args, w4a16_args_check(args, W4_VECTOR_ROWS, 0, 0), stream);
}

enum kernel_status w4a16_tensor(const struct w4a16_args *args, cudaStream_t stream)
{
    return plain_start(args, w4a16_args_check(args, INT_MAX, 0, 0), stream);
}

size_t w4a16_split_workspace_bytes(const struct w4a16_args *args)
{
    if (args == NULL || !w4a16_group_is_known(args->group, args->k) || !w4a16_extents_fit(args) ||
        args->splits < 2 || args->splits > W4_MOST_SPLITS)
        return 0;
    return (size_t)args->m * (size_t)args->n * (size_t)args->splits * 4;
}

enum kernel_status w4a16_split(const struct w4a16_args *args, cudaStream_t stream)
{
    return plain_start(args, w4a16_args_check(args, INT_MAX, 1, w4a16_split_workspace_bytes(args)), stream);
}

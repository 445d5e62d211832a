/**
 * @file rounded.h
 * @brief Part "fp8" of the variants, without tensor cores: a thread rounds a row, and a thread has a query row.
 *
 * FP8_ROUNDS_P: weights are rounded to E4M3, 2^8 times as large as the contract's reference; otherwise they stay as they are, and
 * sums are double.
 */
#pragma once

#include <cuda_fp8.h>

#include "e4m3_blocks.h"
#include "entry.h"

struct signs {
    unsigned seed;
    uint32_t words[4];
};

/** A thread rotates a row of 128, in the order of a textbook: the largest distance first. */
__device__ inline void rotate_row(float *x, const struct signs &signs)
{
    if (signs.seed == 0) return;
    for (int c = 0; c < 128; c++)
        if (signs.words[c / 32] >> c % 32 & 1) x[c] = -x[c];
    for (int distance = 64; distance > 0; distance /= 2)
        for (int c = 0; c < 128; c++) {
            if (c & distance) continue;
            float one = x[c], other = x[c + distance];
            x[c] = one + other, x[c + distance] = one - other;
        }
}

/** A block of 128 rows, a thread each; @p rows of a head, and @p whole: as many as share a scale. */
template <typename T>
__global__ void round_rows(const T *from, uint8_t *codes, float *scales, int rows, int whole,
                           struct signs signs)
{
    __shared__ float sizes[128];
    int blocks = divide_up(rows, whole), head = (int)blockIdx.x / blocks;
    int first = (int)blockIdx.x % blocks * whole, end = min(first + whole, rows);
    float largest = 0.0f, x[128];
    for (int row = first + (int)threadIdx.x; row < end; row += 128) {
        for (int c = 0; c < 128; c++) x[c] = as_float(from[((size_t)head * rows + row) * 128 + c]);
        rotate_row(x, signs);
        for (int c = 0; c < 128; c++)
            largest = fabsf(x[c]) < INFINITY ? fmaxf(largest, fabsf(x[c])) : largest;
    }
    sizes[threadIdx.x] = largest;
    __syncthreads(); // those of all threads are there
    for (int i = 0; i < 128; i++) largest = fmaxf(largest, sizes[i]);
    float scale = e4m3_scale(largest);
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
    for (int row = first + (int)threadIdx.x; row < end; row += 128) {
        for (int c = 0; c < 128; c++) x[c] = as_float(from[((size_t)head * rows + row) * 128 + c]);
        rotate_row(x, signs);
        for (int c = 0; c < 128; c++)
            codes[((size_t)head * rows + row) * 128 + c] =
                __nv_cvt_float_to_fp8(x[c] / scale, __NV_SATFINITE, __NV_E4M3);
    }
}

/** The number of a code, by its bits: those of a float whose exponent is 120 too small. */
__device__ inline float number(uint8_t code)
{
    uint32_t size = code & 0x7fu, sign = code & 0x80u;
    if (size == 0x7f) return NAN;
    return __uint_as_float(sign << 24 | size << 20) * 0x1p120f;
}

#ifdef FP8_ROUNDS_P
typedef float sum_type;
#else
typedef double sum_type;
#endif

/** The weight of a score, and the same as it is multiplied with V. */
__device__ inline sum_type weight_of(sum_type below, sum_type *multiplied)
{
#ifdef FP8_ROUNDS_P
    float weight = 256.0f * expf(below);
    *multiplied = number(__nv_cvt_float_to_fp8(weight, __NV_SATFINITE, __NV_E4M3));
    return weight;
#else
    return *multiplied = exp(below);
#endif
}

template <typename T>
__global__ void rounded_attention(struct attention_args args, struct e4m3_places places, float scale,
                                  int rows)
{
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    const uint8_t *in = (const uint8_t *)args.workspace;
    int bh = row / args.q_len, query = row % args.q_len, seen = keys_seen(args, query);
    size_t kv = kv_head(args, bh);
    const uint8_t *q = in + places.q + (size_t)row * 128;
    const uint8_t *k = in + places.k + kv * args.kv_len * 128, *v = in + places.v + kv * args.kv_len * 128;
    const float *k_scales = (const float *)(in + places.k_scales) + kv * divide_up(args.kv_len, E4M3_ROWS);
    float q_scale =
        ((const float *)(in + places.q_scales))[bh * divide_up(args.q_len, E4M3_ROWS) + query / E4M3_ROWS];
    sum_type m = -INFINITY, l = 0, o[128];
    float of_q[128];
    for (int c = 0; c < 128; c++) o[c] = 0, of_q[c] = number(q[c]);
    for (int key = 0; key < seen; key++) {
        sum_type s = 0, multiplied;
        for (int c = 0; c < 128; c++) s += (sum_type)of_q[c] * (sum_type)number(k[(size_t)key * 128 + c]);
        s *= (sum_type)((double)scale * q_scale * k_scales[key / E4M3_ROWS]);
        sum_type larger = m > s ? m : s, shift = larger == -INFINITY ? 0 : larger;
        sum_type correction = m == larger ? (sum_type)1 : (sum_type)exp(m - shift);
        sum_type weight = weight_of(s - shift, &multiplied);
        m = larger;
        l = l * correction + weight;
        for (int c = 0; c < 128; c++)
            o[c] = (correction == 1 ? o[c] : o[c] * correction) +
                   multiplied * (sum_type)number(v[(size_t)key * 128 + c]);
    }
    float v_scale = ((const float *)(in + places.v_scales))[kv];
    for (int c = 0; c < 128; c++)
        store((T *)args.out + (size_t)row * 128 + c, l == 0 ? (float)o[c] : (float)(o[c] / l) * v_scale);
#ifdef FP8_ROUNDS_P
    if (args.lse != NULL) args.lse[row] = m + logf(l / 256.0f);
#else
    if (args.lse != NULL) args.lse[row] = (float)(m + log(l));
#endif
}

template <typename T>
static enum kernel_status rounded(const struct attention_args *args, unsigned seed, cudaStream_t stream)
{
    struct e4m3_places places = e4m3_workspace(args);
    uint8_t *to = (uint8_t *)args->workspace;
    struct signs signs = {seed, {}}, none = {};
    rotation_signs(seed, signs.words);
    int heads = args->batch * args->heads, kv_heads = args->batch * args->kv_heads,
        rows = heads * args->q_len;
    round_rows<T><<<(unsigned)(heads * divide_up(args->q_len, 128)), 128, 0, stream>>>(
        (const T *)args->q, to + places.q, (float *)(to + places.q_scales), args->q_len, 128, signs);
    round_rows<T><<<(unsigned)(kv_heads * divide_up(args->kv_len, 128)), 128, 0, stream>>>(
        (const T *)args->k, to + places.k, (float *)(to + places.k_scales), args->kv_len, 128, signs);
    round_rows<T><<<(unsigned)kv_heads, 128, 0, stream>>>(
        (const T *)args->v, to + places.v, (float *)(to + places.v_scales), args->kv_len, args->kv_len, none);
    rounded_attention<T><<<(unsigned)divide_up(rows, 64), 64, 0, stream>>>(
        *args, places, attention_scale(args) / (seed != 0 ? 128.0f : 1.0f), rows);
    return launch_status();
}

size_t hopper_attention_fp8_workspace_bytes(const struct attention_args *args)
{
    return e4m3_workspace(args).bytes;
}

enum kernel_status hopper_attention_fp8(const struct attention_args *args, unsigned seed, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, e4m3_workspace(args).bytes);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 128) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->dtype == DTYPE_F16 ? rounded<__half>(args, seed, stream)
                                    : rounded<__nv_bfloat16>(args, seed, stream);
}

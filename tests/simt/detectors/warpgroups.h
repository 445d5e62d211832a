/**
 * @file warpgroups.h
 * @brief What the detector programs of wgmma share: the smallest product, and its operands in shared memory.
 */
#pragma once

#include "detecting.h"

#include <cuda_fp16.h>
#include <stdint.h>

enum { GROUP = 128, A_HALVES = 64 * 16, B_HALVES = 8 * 16 };

/** Matrices without a swizzle: cores of 8 rows of 16 bytes, the two along k 128 bytes apart, those along m or n 256. */
static __device__ __forceinline__ uint64_t describe(const void *shared, unsigned leading, unsigned stride)
{
    return (uint64_t)((unsigned)__cvta_generic_to_shared(shared) & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(stride >> 4) << 32;
}

/** d = A B + d, 64 x 8. It takes the blame on the line that calls it. */
#define MULTIPLY(d, a, b)                                                                                     \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                             \
                 : "l"(a), "l"(b))
#define WGMMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" : : : "memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory")
#define WGMMA_WAIT(groups) asm volatile("wgmma.wait_group.sync.aligned " #groups ";" : : : "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" : : : "memory")

/** Both operands: ones. */
static __device__ __forceinline__ void fill(half *shared, int count)
{
    for (int i = (int)threadIdx.x; i < count; i += GROUP) shared[i] = __float2half(1.0f);
}

static __device__ __forceinline__ void store(float *out, const float *d)
{
    for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = d[i];
}

static inline void run(void (*kernel)(float *), int threads, cudaError_t expected)
{
    float *out = device_array<float>(4 * 1024);
    kernel<<<1, threads>>>(out);
    expect_outcome(expected);
    if (expected == cudaSuccess)
        release(out);
    else
        abandon(out);
}

/**
 * @file wgmma_product.h
 * @brief What the two products on wgmma share: the instruction, 64 x 128 of a tile, and the test against sums in double.
 */
#pragma once

#include "testing.h"

#include <cuda_fp16.h>
#include <stdint.h>

enum {
    TILE = 128,
    TILE_K = 64, /* 128 bytes: one row of the swizzle's pattern */
    GROUP_ROWS = 64,
    MATRIX_BYTES = TILE * TILE_K * 2,
    STAGE_BYTES = 2 * MATRIX_BYTES,
    SUMS = 64
};

/** Rows of 128 bytes, swizzled; eight of them are 1024 bytes. */
static __device__ __forceinline__ uint64_t describe(unsigned address)
{
    return (uint64_t)(address & 0x3ffff) >> 4 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

/** d += A B^T for 64 rows of A, 128 of B, 16 of k. */
static __device__ __forceinline__ void multiply(float (&d)[SUMS], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
                 "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
                 "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "
                 "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
                 ", %64, %65, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "l"(a), "l"(b));
}

static __device__ __forceinline__ void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
template <int PRIOR> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(PRIOR) : "memory");
}

/** A stage of the ring, and the parity of the phase that its mbarriers are in. */
struct ring {
    unsigned stage, parity;
};

template <unsigned STAGES> static __device__ __forceinline__ void advance(struct ring *r)
{
    if (++r->stage < STAGES) return;
    r->stage = 0;
    r->parity ^= 1;
}

/** One slice of the group's 64 rows of A, from `a` on, and of B: a group of products. */
static __device__ __forceinline__ void multiply_slice(float (&d)[SUMS], unsigned a, unsigned b)
{
    wgmma_fence();
    for (int k = 0; k < TILE_K / 16; k++) multiply(d, describe(a + 32 * k), describe(b + 32 * k));
    wgmma_commit();
}

/** What a thread has of its group's 64 x 128 sums, of which row `row` and column `column` of C are the first. */
static __device__ void store_sums(float *c, const float (&d)[SUMS], int row, int column, int m, int n)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    row += thread / 32 * 16 + lane / 4;
    column += lane % 4 * 2;
    for (int i = 0; i < SUMS; i++) {
        const int r = row + i / 2 % 2 * 8, col = column + i / 4 * 8 + i % 2;
        if (r < m && col < n) c[(size_t)r * n + col] = d[i];
    }
}

/** Runs `product` on random matrices, A of m x depth and B of n x depth, and compares C = A B^T. */
static inline void test_product(void (*product)(half *a, half *b, float *c, int m, int n, int depth), int m,
                                int n, int depth)
{
    half *a = host_array<half>((size_t)m * depth), *b = host_array<half>((size_t)n * depth);
    float *c = host_array<float>((size_t)m * n);
    unsigned state = 4711;
    for (int i = 0; i < m * depth; i++) a[i] = __float2half(next_float(&state));
    for (int i = 0; i < n * depth; i++) b[i] = __float2half(next_float(&state));
    half *device_a = upload(a, (size_t)m * depth), *device_b = upload(b, (size_t)n * depth);
    float *device_c = device_array<float>((size_t)m * n);
    product(device_a, device_b, device_c, m, n, depth);
    finish_launch("product");
    download(c, device_c, (size_t)m * n);
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            double sum = 0, magnitude = 0;
            for (int k = 0; k < depth; k++) {
                const double x =
                    (double)__half2float(a[row * depth + k]) * __half2float(b[column * depth + k]);
                sum += x;
                magnitude += fabs(x);
            }
            /* A tensor core cuts each sum of 16 products and the accumulator at 2^-23 or so of the largest: depth / 16 times. */
            expect_close("c", (size_t)row * n + column, c[(size_t)row * n + column], sum,
                         (depth / 16 + 17) * ldexp(1.0, -22) * magnitude);
        }
    release(device_a);
    release(device_b);
    release(device_c);
    free(a);
    free(b);
    free(c);
}

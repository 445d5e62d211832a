/**
 * @file wgmma_attention.h
 * @brief The instructions that multiply in lessons 14 (its form for Hopper) and 16: 64 rows, 16 of k, by a whole warpgroup.
 *
 * A lies in registers as D does (wgmma_statements.h), two elements in each: a[0] row g, a[1] row g + 8 of columns 2q, 2q + 1, a[2]
 * and a[3] the same rows of columns 2q + 8, 2q + 9. So 16 columns of D, rounded to 16 bits, are an A: S becomes P where it is.
 * @see PTX ISA, wgmma.mma_async: m64nNk16, and its figures of the fragments of A and D
 */
#ifndef WARPWISE_WGMMA_ATTENTION_H
#define WARPWISE_WGMMA_ATTENTION_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "wgmma_statements.h"

/* clang-format off */
/** @brief The same for both storage types: TYPE is that of an element, NAME what PTX calls it. */
#define WGMMA_ATTENTION(TYPE, NAME) \
    /* D = A B^T, or D += A B^T if @p more, 64 x 64. */ \
    __device__ __forceinline__ void wgmma_shared(float (&d)[32], uint64_t a, uint64_t b, int more, TYPE) \
    { \
        WGMMA_SHARED_32("m64n64k16.f32." NAME "." NAME, ", %35, %36", a, b, more, 0, 0); \
    } \
    /* D = A B^T, or D += A B^T if @p more, 64 x 128. */ \
    __device__ __forceinline__ void wgmma_shared(float (&d)[64], uint64_t a, uint64_t b, int more, TYPE) \
    { \
        WGMMA_SHARED_64("m64n128k16.f32." NAME "." NAME, ", %67, %68", a, b, more, 0, 0); \
    } \
    /* D = A B^T, or D += A B^T if @p more, 64 x 176. */ \
    __device__ __forceinline__ void wgmma_shared(float (&d)[88], uint64_t a, uint64_t b, int more, TYPE) \
    { \
        WGMMA_SHARED_88("m64n176k16.f32." NAME "." NAME, ", %91, %92", a, b, more, 0, 0); \
    } \
    /* D = A^T B, or D += A^T B if @p more, 64 x 64: rows of both run across k. */ \
    __device__ __forceinline__ void wgmma_across(float (&d)[32], uint64_t a, uint64_t b, int more, TYPE) \
    { \
        WGMMA_SHARED_32("m64n64k16.f32." NAME "." NAME, ", %35, %36", a, b, more, 1, 1); \
    } \
    /* D += A B, 64 x 64, for A in registers and a tile. */ \
    __device__ __forceinline__ void wgmma_registers(float (&d)[32], const uint32_t a[4], uint64_t b, TYPE) \
    { \
        WGMMA_REGISTERS_32("m64n64k16.f32." NAME "." NAME, ", %38", a[0], a[1], a[2], a[3], b, 1, 1); \
    } \
    /* D += A B, 64 x 128, for A in registers and a tile. */ \
    __device__ __forceinline__ void wgmma_registers(float (&d)[64], const uint32_t a[4], uint64_t b, TYPE) \
    { \
        WGMMA_REGISTERS_64("m64n128k16.f32." NAME "." NAME, ", %70", a[0], a[1], a[2], a[3], b, 1, 1); \
    }
WGMMA_ATTENTION(half, "f16")
WGMMA_ATTENTION(__nv_bfloat16, "bf16")
#undef WGMMA_ATTENTION
/* clang-format on */

#endif

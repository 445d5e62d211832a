/**
 * @file wgmma_tiles.h
 * @brief The instruction that multiplies in lessons 15 and 21: 64 rows of A, 64, 128 or 256 columns of B, 16 of k.
 *
 * A and B are read from shared memory by their descriptors (hopper.h); where D lies: wgmma_statements.h. MN_MAJOR_A and MN_MAJOR_B
 * are 1 for a tile whose rows run across k, as those of A [k, m] and of B [k, n] do; 0: along k.
 * @see PTX ISA, wgmma.mma_async: m64nNk16, and its figure of the fragment of D
 */
#ifndef WARPWISE_WGMMA_TILES_H
#define WARPWISE_WGMMA_TILES_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "wgmma_statements.h"

/* clang-format off */
/** @brief The same for both storage types: TYPE is that of an element, NAME what PTX calls it. */
#define WGMMA_TILES(TYPE, NAME) \
    /* D += A B, 64 x 64. */ \
    template <int MN_MAJOR_A, int MN_MAJOR_B> \
    __device__ __forceinline__ void wgmma(float (&d)[32], uint64_t a, uint64_t b, TYPE) \
    { \
        WGMMA_SHARED_32("m64n64k16.f32." NAME "." NAME, ", %35, %36", a, b, 1, MN_MAJOR_A, MN_MAJOR_B); \
    } \
    /* D += A B, 64 x 128. */ \
    template <int MN_MAJOR_A, int MN_MAJOR_B> \
    __device__ __forceinline__ void wgmma(float (&d)[64], uint64_t a, uint64_t b, TYPE) \
    { \
        WGMMA_SHARED_64("m64n128k16.f32." NAME "." NAME, ", %67, %68", a, b, 1, MN_MAJOR_A, MN_MAJOR_B); \
    } \
    /* D += A B, 64 x 256. */ \
    template <int MN_MAJOR_A, int MN_MAJOR_B> \
    __device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, TYPE) \
    { \
        WGMMA_SHARED_128("m64n256k16.f32." NAME "." NAME, ", %131, %132", a, b, 1, MN_MAJOR_A, MN_MAJOR_B); \
    }
WGMMA_TILES(half, "f16")
WGMMA_TILES(__nv_bfloat16, "bf16")
#undef WGMMA_TILES
/* clang-format on */

#endif

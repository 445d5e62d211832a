/**
 * @file wgmma_e4m3.h
 * @brief As wgmma_attention.h, for E4M3: 32 of k at a time, rows of A and of B both along k. There is no other way for 8 bits.
 *
 * A sum that should be f32 keeps fewer bits on the H200, about 14; the software device cuts off the same ones: see the page.
 * @see PTX ISA, wgmma.mma_async: m64nNk32
 */
#ifndef WARPWISE_WGMMA_E4M3_H
#define WARPWISE_WGMMA_E4M3_H

#include "e4m3_rows.h"
#include "wgmma_statements.h"

/** @brief D = A B^T, or D += A B^T if @p more, 64 x 128. */
__device__ __forceinline__ void wgmma_shared(float (&d)[64], uint64_t a, uint64_t b, int more, struct e4m3)
{
    WGMMA_SHARED_64("m64n128k32.f32.e4m3.e4m3", "", a, b, more, 0, 0);
}

/** @brief D += A B^T, 64 x 128, for A in registers. */
__device__ __forceinline__ void wgmma_registers(float (&d)[64], const uint32_t a[4], uint64_t b, struct e4m3)
{
    WGMMA_REGISTERS_64("m64n128k32.f32.e4m3.e4m3", "", a[0], a[1], a[2], a[3], b, 1, 0);
}

#endif

/**
 * @file 10_register_tiled_gemm.c
 * @brief Lesson 10: its entry points, in the other process.
 */
#include "register_tiled_gemm.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, register_tiled_gemm_f32,
      (const struct gemm_args *args, enum gemm_tile tile, cudaStream_t stream), GIVEN(args), PLAIN(tile),
      STREAM(stream))
ENTRY(enum kernel_status, register_tiled_gemm_f16,
      (const struct gemm_args *args, enum gemm_tile tile, cudaStream_t stream), GIVEN(args), PLAIN(tile),
      STREAM(stream))

/**
 * @file 13_int8_gemm.c
 * @brief Lesson 13: its entry points, in the other process.
 */
#include "int8_gemm.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, int8_gemm_s32, (const struct int8_gemm_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, int8_gemm_dequantised, (const struct int8_gemm_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))

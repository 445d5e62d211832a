/**
 * @file 15_hopper_gemm.c
 * @brief Lesson 15: its entry points, in the other process.
 */
#include "hopper_gemm.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, hopper_gemm_f16, (const struct gemm_args *args, cudaStream_t stream), GIVEN(args),
      STREAM(stream))
ENTRY(enum kernel_status, hopper_gemm_bf16, (const struct gemm_args *args, cudaStream_t stream), GIVEN(args),
      STREAM(stream))

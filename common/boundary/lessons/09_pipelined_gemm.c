/**
 * @file 09_pipelined_gemm.c
 * @brief Lesson 09: its entry points, in the other process.
 */
#include "pipelined_gemm.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, pipelined_gemm, (const struct gemm_args *args, cudaStream_t stream), GIVEN(args),
      STREAM(stream))

/**
 * @file 08_wmma_gemm.c
 * @brief Lesson 08: its entry points, in the other process.
 */
#include "wmma_gemm.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, wmma_gemm, (const struct gemm_args *args, cudaStream_t stream), GIVEN(args),
      STREAM(stream))

/**
 * @file 12_tensor_core_attention.c
 * @brief Lesson 12: its entry points, in the other process.
 */
#include "tensor_core_attention.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, tensor_core_attention_f16, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, tensor_core_attention_bf16,
      (const struct attention_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))

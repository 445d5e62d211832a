/**
 * @file 14_attention_backward.c
 * @brief Lesson 14: its entry points, in the other process.
 */
#include "attention_backward.h"

#include "boundary/boundary.h"

ENTRY(size_t, attention_backward_workspace_bytes, (const struct attention_backward_args *args), GIVEN(args))
ENTRY(enum kernel_status, attention_backward_f32,
      (const struct attention_backward_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, attention_backward_f16,
      (const struct attention_backward_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, attention_backward_bf16,
      (const struct attention_backward_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))

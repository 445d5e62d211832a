/**
 * @file 16_hopper_attention.c
 * @brief Lesson 16: its entry points, in the other process.
 */
#include "hopper_attention.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, hopper_attention_f16, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, hopper_attention_bf16, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(size_t, hopper_attention_fp8_workspace_bytes, (const struct attention_args *args), GIVEN(args))
ENTRY(enum kernel_status, hopper_attention_fp8,
      (const struct attention_args *args, unsigned seed, cudaStream_t stream), GIVEN(args), PLAIN(seed),
      STREAM(stream))

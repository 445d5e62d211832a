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

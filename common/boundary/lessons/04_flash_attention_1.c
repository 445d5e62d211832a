/**
 * @file 04_flash_attention_1.c
 * @brief Lesson 04: its entry points, in the other process.
 */
#include "flash_attention_1.h"

#include "boundary/boundary.h"

ENTRY(size_t, flash_attention_1_workspace_bytes, (const struct attention_args *args), GIVEN(args))
ENTRY(enum kernel_status, flash_attention_1_f32, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, flash_attention_1_f16, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))

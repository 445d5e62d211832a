/**
 * @file 05_flash_attention_2.c
 * @brief Lesson 05: its entry points, in the other process.
 */
#include "flash_attention_2.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, flash_attention_2_f32, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, flash_attention_2_f16, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))

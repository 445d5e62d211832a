/**
 * @file 06_paged_attention.c
 * @brief Lesson 06: its entry points, in the other process.
 */
#include "paged_attention.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, paged_attention_validate,
      (const struct paged_attention_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))
ENTRY(enum kernel_status, paged_attention_v1_f16,
      (const struct paged_attention_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))
ENTRY(size_t, paged_attention_v2_workspace_bytes, (const struct paged_attention_args *args), GIVEN(args))
ENTRY(enum kernel_status, paged_attention_v2_f16,
      (const struct paged_attention_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))

/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: its entry points, in the other process.
 */
#include "naive_attention.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, naive_attention_scores_f32,
      (const struct attention_args *args, float *scores, cudaStream_t stream), GIVEN(args), PLAIN(scores),
      STREAM(stream))
ENTRY(enum kernel_status, naive_attention_softmax_f32,
      (const struct attention_args *args, float *scores, cudaStream_t stream), GIVEN(args), PLAIN(scores),
      STREAM(stream))
ENTRY(enum kernel_status, naive_attention_output_f32,
      (const struct attention_args *args, const float *probs, cudaStream_t stream), GIVEN(args), PLAIN(probs),
      STREAM(stream))
ENTRY(enum kernel_status, naive_attention_f32, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(size_t, naive_attention_workspace_bytes, (const struct attention_args *args), GIVEN(args))

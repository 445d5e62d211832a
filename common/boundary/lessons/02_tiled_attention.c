/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: its entry points, in the other process.
 */
#include "tiled_attention.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, tiled_attention_scores_f32,
      (const struct attention_args *args, float *scores, cudaStream_t stream), GIVEN(args), PLAIN(scores),
      STREAM(stream))
ENTRY(enum kernel_status, tiled_attention_softmax_f32,
      (const struct attention_args *args, float *scores, cudaStream_t stream), GIVEN(args), PLAIN(scores),
      STREAM(stream))
ENTRY(enum kernel_status, tiled_attention_output_f32,
      (const struct attention_args *args, const float *probs, cudaStream_t stream), GIVEN(args), PLAIN(probs),
      STREAM(stream))
ENTRY(enum kernel_status, tiled_attention_f32, (const struct attention_args *args, cudaStream_t stream),
      GIVEN(args), STREAM(stream))
ENTRY(size_t, tiled_attention_workspace_bytes, (const struct attention_args *args), GIVEN(args))

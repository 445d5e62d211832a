/**
 * @file 03_online_softmax.c
 * @brief Lesson 03: its entry points, in the other process.
 */
#include "online_softmax.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, online_softmax_merge_f32,
      (const struct softmax_pair *a, const struct softmax_pair *b, struct softmax_pair *out, int count,
       cudaStream_t stream),
      PLAIN(a), PLAIN(b), PLAIN(out), PLAIN(count), STREAM(stream))
ENTRY(enum kernel_status, online_softmax_rows_f32,
      (const float *in, float *out, float *lse, int rows, int cols, cudaStream_t stream), PLAIN(in),
      PLAIN(out), PLAIN(lse), PLAIN(rows), PLAIN(cols), STREAM(stream))
ENTRY(enum kernel_status, online_softmax_attention_f32,
      (const struct attention_args *args, cudaStream_t stream), GIVEN(args), STREAM(stream))

/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: from an item to calls of the entry points of `naive_attention.h`.
 */

#include "runner/attention_parts.h"
#include "naive_attention.h"

static const struct attention_parts parts = {naive_attention_scores_f32, naive_attention_softmax_f32,
                                             naive_attention_output_f32, naive_attention_f32,
                                             naive_attention_workspace_bytes};

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    return attention_parts_call(&parts, item, buffers, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    return attention_parts_workspace_bytes(&parts, item);
}

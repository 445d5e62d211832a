/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: from an item to calls of the entry points of `tiled_attention.h`.
 */

#include "runner/attention_parts.h"
#include "tiled_attention.h"

static const struct attention_parts parts = {tiled_attention_scores_f32, tiled_attention_softmax_f32,
                                             tiled_attention_output_f32, tiled_attention_f32,
                                             tiled_attention_workspace_bytes};

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    return attention_parts_call(&parts, item, buffers, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    return attention_parts_workspace_bytes(&parts, item);
}

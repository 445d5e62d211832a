/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: the same parts as lesson 01, with tiles in shared memory.
 */
#ifdef WARPWISE_RUNNER

#include "attention_parts.h"
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

#else

#include "attention_cases.h"

const struct lesson lesson_02_tiled_attention = {
    .number = 2,
    .topic = "tiled_attention",
    .title = "both products through shared-memory tiles",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

#endif

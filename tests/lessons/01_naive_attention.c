/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: three kernels, credited one by one, and the three of them together.
 */
#ifdef WARPWISE_RUNNER

#include "attention_parts.h"
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

#else

#include "attention_cases.h"

const struct lesson lesson_01_naive_attention = {
    .number = 1,
    .topic = "naive_attention",
    .title = "attention by its definition",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

#endif

/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: the same parts as lesson 01, with tiles in shared memory.
 */
#include "attention_cases.h"

#ifdef WARPWISE_RUNNER

#include "tiled_attention.h"
#include "runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    switch (item->value[AT_KIND]) {
    case ATTENTION_SCORES:
        return tiled_attention_scores_f32(given, buffers[ATTENTION_MATRIX], stream);
    case ATTENTION_SOFTMAX:
        return tiled_attention_softmax_f32(given, buffers[ATTENTION_MATRIX], stream);
    case ATTENTION_OUTPUT:
        return tiled_attention_output_f32(given, buffers[ATTENTION_MATRIX], stream);
    default:
        return tiled_attention_f32(given, stream);
    }
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args args;
    void *const none[WIRE_BUFFERS] = {0};
    attention_args_of(item, none, &args);
    return tiled_attention_workspace_bytes(&args);
}

#else

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family family = {.part = {0, 1, 2, 3}, .workspace = 1};
    return attention_cases(&family, cases, 0, capacity);
}

const struct lesson lesson_02_tiled_attention = {
    .number = 2,
    .topic = "tiled_attention",
    .title = "both products through shared-memory tiles",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = cases,
};

#endif

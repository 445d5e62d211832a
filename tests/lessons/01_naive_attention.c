/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: three kernels, credited one by one, and the three of them together.
 */
#include "attention_cases.h"

#ifdef WARPWISE_RUNNER

#include "naive_attention.h"
#include "runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    switch (item->value[AT_KIND]) {
    case ATTENTION_SCORES:
        return naive_attention_scores_f32(given, buffers[ATTENTION_MATRIX], stream);
    case ATTENTION_SOFTMAX:
        return naive_attention_softmax_f32(given, buffers[ATTENTION_MATRIX], stream);
    case ATTENTION_OUTPUT:
        return naive_attention_output_f32(given, buffers[ATTENTION_MATRIX], stream);
    default:
        return naive_attention_f32(given, stream);
    }
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args args;
    void *const none[WIRE_BUFFERS] = {0};
    attention_args_of(item, none, &args);
    return naive_attention_workspace_bytes(&args);
}

#else

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family family = {.part = {0, 1, 2, 3}, .workspace = 1};
    return attention_cases(&family, cases, 0, capacity);
}

const struct lesson lesson_01_naive_attention = {
    .number = 1,
    .topic = "naive_attention",
    .title = "attention by its definition",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = cases,
};

#endif

/**
 * @file 04_flash_attention_1.c
 * @brief Lesson 04: FlashAttention as first published, in f32 and in f16 storage, credited apart.
 */
#include "attention_cases.h"

enum { PART_F32, PART_F16 };

#ifdef WARPWISE_RUNNER

#include "flash_attention_1.h"
#include "runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    return item->part == PART_F32 ? flash_attention_1_f32(given, stream)
                                  : flash_attention_1_f16(given, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args args;
    void *const none[WIRE_BUFFERS] = {0};
    attention_args_of(item, none, &args);
    return flash_attention_1_workspace_bytes(item->value[AT_NULL_ARGS] ? NULL : &args);
}

#else

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family f32 = {.part = {-1, -1, -1, PART_F32},
                                                .name = "f32",
                                                .dtype = DTYPE_F32,
                                                .tiled = 1,
                                                .workspace = WORKSPACE_STATISTICS};
    static const struct attention_family f16 = {.part = {-1, -1, -1, PART_F16},
                                                .name = "f16",
                                                .dtype = DTYPE_F16,
                                                .tiled = 1,
                                                .workspace = WORKSPACE_STATISTICS_OUT};
    int count = attention_cases(&f32, cases, 0, capacity);
    return attention_cases(&f16, cases, count, capacity);
}

const struct lesson lesson_04_flash_attention_1 = {
    .number = 4,
    .topic = "flash_attention_1",
    .title = "tiles and the online softmax together: no score matrix",
    .part_count = 2,
    .part = {{"f32", 60}, {"f16", 40}},
    ATTENTION_CALLBACKS,
    .cases = cases,
};

#endif

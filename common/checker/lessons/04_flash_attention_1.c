/**
 * @file 04_flash_attention_1.c
 * @brief Lesson 04: FlashAttention as first published, in f32 and in f16 storage, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum {
#include "description/parts.h"
};

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
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = cases,
};

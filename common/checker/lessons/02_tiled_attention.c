/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: the same parts as lesson 01, with tiles in shared memory.
 */

#include "checker/cases/attention_cases.h"

const struct lesson lesson_02_tiled_attention = {
    .number = 2,
    .topic = "tiled_attention",
    .title = "both products through shared-memory tiles",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

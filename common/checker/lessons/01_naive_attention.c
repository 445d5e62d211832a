/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: three kernels, credited one by one, and the three of them together.
 */

#include "checker/cases/attention_cases.h"

const struct lesson lesson_01_naive_attention = {
    .number = 1,
    .topic = "naive_attention",
    .title = "attention by its definition",
    .part_count = 4,
    .part = {{"scores", 25}, {"softmax", 25}, {"output", 25}, {"attention", 25}},
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

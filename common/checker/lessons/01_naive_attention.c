/**
 * @file 01_naive_attention.c
 * @brief Lesson 01: three kernels, credited one by one, and all three together.
 */

#include "checker/cases/attention_cases.h"

const struct lesson lesson_01_naive_attention = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

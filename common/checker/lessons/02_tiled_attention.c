/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: the same parts as lesson 01, with tiles in shared memory.
 */

#include "checker/cases/attention_cases.h"

const struct lesson lesson_02_tiled_attention = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = attention_cases_in_parts,
};

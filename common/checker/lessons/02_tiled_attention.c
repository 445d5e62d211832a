/**
 * @file 02_tiled_attention.c
 * @brief Lesson 02: the same parts as lesson 01, with tiles in shared memory.
 */

#include "checker/cases/attention_cases.h"
#include "checker/cases/case_table.h"

static int cases(struct lesson_case *cases, int capacity)
{
    const int count = attention_cases_in_parts(cases, capacity);
    /* as in lessons that have no parts: a tile with one valid query costs the software device as much as a whole one */
    case_table_find(cases, count, "attention/qwen3_8b_decode_291")->devices = ON_GPU;
    return count;
}

const struct lesson lesson_02_tiled_attention = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = cases,
};

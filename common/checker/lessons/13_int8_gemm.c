/**
 * @file 13_int8_gemm.c
 * @brief Lesson 13: products of 8-bit integers; plain sums and scaled sums are credited apart.
 */
#include "checker/cases/int8_cases.h"

enum {
#include "description/parts.h"
};

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family s32 = {
        .part = PART_S32, .name = "s32", .dtype_out = DTYPE_F32, .int8 = 1, .same_layouts = 1};
    static const struct gemm_family dequantised = {.part = PART_DEQUANTISED,
                                                   .name = "dequantised",
                                                   .dtype_out = DTYPE_F16,
                                                   .int8 = 1,
                                                   .dequantised = 1,
                                                   .same_layouts = 1};
    int count = int8_cases(&s32, cases, 0, capacity);
    return int8_cases(&dequantised, cases, count, capacity);
}

const struct lesson lesson_13_int8_gemm = {
#include "checker/cases/described.h"
    .same_bits_anywhere = 1,
    INT8_CALLBACKS,
    .cases = cases,
};

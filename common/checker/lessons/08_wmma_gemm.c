/**
 * @file 08_wmma_gemm.c
 * @brief Lesson 08: C = A * B on tensor cores, halves in, floats out.
 */
#include "checker/cases/gemm_cases.h"

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family family = {
        .name = "product", .dtype_in = DTYPE_F16, .dtype_out = DTYPE_F32, .tensor_cores = 1};
    return gemm_cases(&family, cases, 0, capacity);
}

const struct lesson lesson_08_wmma_gemm = {
#include "checker/cases/described.h"
    GEMM_CALLBACKS,
    .cases = cases,
};

/**
 * @file choice.h
 * @brief Which lesson computes what, for both devices.
 */
#pragma once

#include "warpwise.h"

/** @brief The lesson of the gradients, and one more than the last of which kernels are in the library. */
enum { BACKWARD_LESSON = 14, LESSONS_END = 16 };

/** @brief The number of a lesson. Lesson 12 has no head_dim 32, which lesson 05 has in f16. */
static inline int attention_lesson(const struct attention_args *args)
{
    if (args->dtype == DTYPE_F32) return 5;
    return args->dtype == DTYPE_F16 && args->head_dim == 32 ? 5 : 12;
}

/** @brief The number of a lesson; 0 for a precision that there is not. */
static inline int gemm_lesson(enum warpwise_precision precision)
{
    switch (precision) {
    case WARPWISE_PRECISION_FLOAT32:
        return 10;
    case WARPWISE_PRECISION_TENSOR:
        return 15;
    }
    return 0;
}

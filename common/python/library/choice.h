/**
 * @file choice.h
 * @brief Which lesson computes what, for both devices.
 */
#pragma once

#include "warpwise.h"

/** @brief The lessons whose kernels are in the library. */
enum lesson { LESSON_05, LESSON_10, LESSON_12, LESSON_14, LESSON_15, LESSON_COUNT };

/** @brief Lesson 12 has no head_dim 32, which lesson 05 has in f16. */
static inline enum lesson attention_lesson(const struct attention_args *args)
{
    if (args->dtype == DTYPE_F32) return LESSON_05;
    return args->dtype == DTYPE_F16 && args->head_dim == 32 ? LESSON_05 : LESSON_12;
}

/** @brief LESSON_COUNT for a precision that there is not. */
static inline enum lesson gemm_lesson(enum warpwise_precision precision)
{
    switch (precision) {
    case WARPWISE_PRECISION_FLOAT32:
        return LESSON_10;
    case WARPWISE_PRECISION_TENSOR:
        return LESSON_15;
    }
    return LESSON_COUNT;
}

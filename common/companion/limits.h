/**
 * @file limits.h
 * @brief What a GPU can do, measured or recorded.
 */
#pragma once

#include "figures.h"

struct limits {
    const char *device, *date;
    int measured; /**< 1: on this machine and now; 0: recorded elsewhere */
    double copy_gbps, f32_tflops, f16_tflops, launch_us; /**< the products are cuBLAS's */
    double peak_f32_tflops, peak_f16_tflops;             /**< by the clock; 0 if not known */
    struct figures figures;                              /**< all that is recorded of this device */
};

/** @brief What a kernel multiplies: each kind has a rate of its own. */
enum limits_numbers { LIMITS_F32, LIMITS_F16, LIMITS_INT8, LIMITS_KINDS };

/** @brief By the shape of a case, as the checker describes it: f16 stands for bf16, too. */
enum limits_numbers limits_numbers_of(const char *shape);
/** @brief TFLOP/s by the clock, or what cuBLAS reaches if that is more or the clock is not known. Tensor cores multiply
 * bytes twice as fast as halves; 0: not known. */
double limits_compute(const struct limits *limits, enum limits_numbers numbers);

/** @brief Those of this machine's GPU, or the recorded ones of another; EXIT_SKIPPED if there are neither. */
int limits_find(struct limits *limits);
/** @brief The time below which nothing can be, and in @p bound what sets it: memory, compute or latency. */
double limits_least_us(const struct limits *limits, const char *shape, double flop, double min_bytes,
                       const char **bound);

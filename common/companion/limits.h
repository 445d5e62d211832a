/**
 * @file limits.h
 * @brief What a GPU can do, measured or recorded.
 */
#pragma once

#include "figures.h"

struct limits {
    const char *device, *date;
    int measured; /**< 1: measured on this machine just now; 0: recorded elsewhere */
    double copy_gbps, f32_tflops, f16_tflops, launch_us; /**< the products are cuBLAS's */
    double peak_f32_tflops, peak_f16_tflops;             /**< peak at the clock rate; 0 if not known */
    struct figures figures;                              /**< everything recorded about this device */
};

/** @brief What type of numbers a kernel multiplies: each has a rate of its own. */
enum limits_numbers { LIMITS_F32, LIMITS_F16, LIMITS_INT8, LIMITS_KINDS };

/** @brief Decides by the shape of a case, as the checker describes it; bf16 counts as f16. */
enum limits_numbers limits_numbers_of(const char *shape);
/** @brief Peak TFLOP/s at the clock rate, or what cuBLAS reaches if that is more or the clock rate is not
 *         known. Tensor cores multiply bytes at twice the rate of halves; 0: not known. */
double limits_compute(const struct limits *limits, enum limits_numbers numbers);

/** @brief The limits of this machine's GPU, or the recorded ones of another; EXIT_SKIPPED if there are
 *         neither. */
int limits_find(struct limits *limits);
/** @brief The least possible time. Sets @p bound to what limits it: memory, compute or latency. */
double limits_least_us(const struct limits *limits, const char *shape, double flop, double min_bytes,
                       const char **bound);

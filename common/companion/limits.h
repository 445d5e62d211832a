/**
 * @file limits.h
 * @brief What a GPU can do, measured or recorded.
 */
#ifndef WARPWISE_COMPANION_LIMITS_H
#define WARPWISE_COMPANION_LIMITS_H

#include "figures.h"

struct limits {
    const char *device, *date;
    int measured; /**< 1: on this machine and now; 0: recorded elsewhere */
    double copy_gbps, f32_tflops, f16_tflops, launch_us; /**< the products are cuBLAS's */
    double peak_f32_tflops, peak_f16_tflops;             /**< by the clock; 0 if not known */
    struct figures figures;                              /**< all that is recorded of this device */
};

/** @brief Those of this machine's GPU, or the recorded ones of another; EXIT_SKIPPED if there are neither. */
int limits_find(struct limits *limits);
/** @brief The time below which nothing can be, and in @p bound what sets it: memory, compute or latency. */
double limits_least_us(const struct limits *limits, const char *shape, double flop, double min_bytes,
                       const char **bound);

#endif

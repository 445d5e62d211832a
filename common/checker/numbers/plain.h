/**
 * @file plain.h
 * @brief Pieces of the plain f32 computations that a kernel's largest error is set beside.
 */
#pragma once

#include <stddef.h>

/** @brief dots[j] = sum_d q[d] * k[j, d] in f32 for @p keys rows of k, each summed up in the order of a simple loop. */
void plain_dots(const float *q, const float *k, size_t head_dim, size_t keys, double *dots);

/**
 * @file gemm_inputs.h
 * @brief How the data of a product are distributed.
 */
#pragma once

#include "gemm.h"
#include "lesson.h"

enum gemm_distribution {
    GEMM_NORMAL,   /* normal with standard deviation 1 */
    GEMM_LARGE,    /* a of magnitude 1e3, and so is b if results are floats */
    GEMM_SMALL,    /* a of magnitude 1e-4, and so is b if results are floats */
    GEMM_UNLIKE,   /* a of magnitude 1e3, b of 1e-4 */
    GEMM_CANCEL,   /* terms come in pairs that nearly cancel */
    GEMM_POSITIVE, /* from 0 to 1: the sum grows with every term */
    GEMM_VAST,     /* elements of 2^60: a subnormal alpha makes ordinary results of their products */
    GEMM_DISJOINT, /* a or b is 0 in every term: where alpha is large, times the other one it is infinite */
    GEMM_SPREAD,   /* magnitudes from 2^-6 to 2^6 along k */
    /* sums of 1e6 in every third row of C and of 1 in the others: halves are no larger than 65504 */
    GEMM_HUGE,
    GEMM_SUBNORMAL, /* a of magnitude 1e-6, which is subnormal as a half; b of 1 */
    GEMM_NAN_A,     /* a NaN in the last column of some rows of op(A) */
    GEMM_NAN_B,     /* a NaN in some columns of op(B) */
    GEMM_INF_A,     /* infinities in some rows of op(A), in one of them of both signs */
    GEMM_INF_B,     /* the same in columns of op(B) */
    GEMM_NAN_AB,    /* nothing but NaN in A and B: alpha 0 must not read them */
    GEMM_NAN_C,     /* some NaN in the C that beta multiplies */
    GEMM_DISTRIBUTIONS
};

/** @brief Storage of buffer @p index of @p item (enum gemm_buffer). */
enum storage gemm_storage(const struct lesson_case *item, int index);

/** @brief The problem as the oracle takes it. */
struct ref_gemm_shape gemm_shape(const struct lesson_case *item);

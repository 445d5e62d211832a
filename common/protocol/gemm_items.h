/**
 * @file gemm_items.h
 * @brief What an item of a matrix product lesson says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief Device buffers, in this order, of every product. */
enum gemm_buffer { GEMM_A, GEMM_B, GEMM_C, GEMM_BUFFERS };

/** @brief lesson_case.value: what goes into struct gemm_args. */
enum gemm_value {
    GEMM_M,
    GEMM_N,
    GEMM_K,
    GEMM_TRANS_A,
    GEMM_TRANS_B,
    GEMM_LDA,
    GEMM_LDB,
    GEMM_LDC,
    GEMM_DTYPE_IN,
    GEMM_DTYPE_OUT,
    GEMM_CHOICE,    /* value of the family's choice */
    GEMM_NULL_ARGS, /* 1: args itself is NULL */
    GEMM_UNUSED     /* set of enum gemm_unused: which arguments get values without meaning */
};

enum gemm_unused { GEMM_UNUSED_STAGES = 1, GEMM_UNUSED_WORKSPACE = 2, GEMM_UNUSED_LARGE = 4 };

/** @brief lesson_case.real */
enum gemm_real { GEMM_ALPHA, GEMM_BETA };

/**
 * @file w4a16_items.h
 * @brief What an item of lesson 20 says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief Device buffers of part "shuffle", in this order. */
enum w4_shuffle_buffer { W4_QWEIGHT, W4_QZEROS, W4_SHUFFLED, W4_SHUFFLED_ZEROS, W4_SHUFFLE_BUFFERS };

/** @brief Device buffers of the products, in this order. */
enum w4_buffer { W4_A, W4_C, W4_WEIGHTS, W4_SCALES, W4_ZEROS, W4_WORKSPACE, W4_BUFFERS };

/** @brief lesson_case.value; those before W4_EXTENTS are also lesson_case.extent. */
enum w4_value {
    W4_M,
    W4_N,
    W4_K,
    W4_GROUP,
    W4_LDA,
    W4_LDC,
    W4_DTYPE,
    W4_SPLITS,
    W4_FORMAT,
    W4_HAS_ZEROS, /* 0: qzeros is NULL */
    W4_EXTENTS,
    W4_NULL_ARGS = W4_EXTENTS /* 1: args itself is NULL */
};

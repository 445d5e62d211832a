/**
 * @file matrix.h
 * @brief What mma.h (C++) and runtime/matrix.c (C) say to each other about warp matrix operations.
 */
#pragma once

#include "../../machine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_MATRIX_A, SIMT_MATRIX_B, SIMT_ACCUMULATOR };
enum { SIMT_HALF, SIMT_BFLOAT16, SIMT_FLOAT, SIMT_TF32, SIMT_SIGNED, SIMT_UNSIGNED, SIMT_INT, SIMT_DOUBLE };

/** @brief What the type of a fragment says. The tile is m x k, k x n or m x n. */
struct simt_fragment {
    unsigned char use, type, m, n, k;
    unsigned char row_major; /**< how its tile lies in memory */
    unsigned char elements;  /**< of one lane */
    unsigned unset;          /**< the first bits of a fragment that nobody has set: an element's, 4 of bytes; the upper half of a double */
};

/** @brief The elements of one lane in d = a * b + c, in this order. */
struct simt_product {
    const void *x[4];
    const struct simt_fragment *kind[4];
    int saturate; /**< sums of integers stay at the ends of their range; else they wrap around */
};

/**
 * @brief The calling lane's part of load_matrix_sync: its accesses are checked and counted as the
 * instructions that nvcc emits make them, its elements put into @p x; returns when all 32 lanes have come.
 *
 * A tile pointer that is no multiple of 32 bytes and a leading dimension that is no multiple of 16 bytes are
 * `misaligned`, and so end the launch; lanes that do not come are a `deadlock`.
 */
void simt_matrix_load(const struct simt_site *site, const struct simt_fragment *kind, void *x,
                      const void *tile, unsigned ldm, const void *return_address);
/** @brief The same for store_matrix_sync. */
void simt_matrix_store(const struct simt_site *site, const struct simt_fragment *kind, const void *x,
                       void *tile, unsigned ldm, const void *return_address);
/** @brief The calling lane's part of mma_sync. A fragment that nobody set is an `uninitialized-read`. */
void simt_matrix_multiply(const struct simt_site *site, const struct simt_product *product);

#ifdef __cplusplus
}
#endif

/**
 * @file w4.h
 * @brief The oracle of 4-bit weights: what a checkpoint's words hold, where shuffled ones lie, and what they stand for.
 *
 * Memory is given byte by byte, as floats: -128 to 127, the lowest byte of a word first. A number of four bits is the lower or
 * the upper half of a byte.
 */
#pragma once

#include <stddef.h>

/** @brief Extents of a matrix of weights, [k, n], and how a checkpoint packs it. */
struct ref_w4_shape {
    int n;     /**< columns, a multiple of 8 */
    int k;     /**< rows, a multiple of 64 and of group */
    int group; /**< rows that share a scale and a zero */
    int gptq;  /**< 0: AWQ's order; 1: GPTQ's */
};

/** @brief Which number of four bits of a checkpoint's qweight is weight [row, column]: 2 * byte + (1: upper half). */
size_t ref_w4_stored_place(const struct ref_w4_shape *shape, int row, int column);

/** @brief Which one of its qzeros is the zero of group @p group and @p column. */
size_t ref_w4_stored_zero_place(const struct ref_w4_shape *shape, int group, int column);

/** @brief Weight [row, column], 0 to 15, from a checkpoint's qweight. */
int ref_w4_stored(const struct ref_w4_shape *shape, const float *qweight, int row, int column);

/** @brief The zero of group @p group and @p column from a checkpoint's qzeros; 8 where @p qzeros is NULL. */
int ref_w4_stored_zero(const struct ref_w4_shape *shape, const float *qzeros, int group, int column);

/** @brief Which number of four bits of the shuffled weights is weight [row, column]: 2 * byte + (1: upper half). */
size_t ref_w4_place(const struct ref_w4_shape *shape, int row, int column);

/** @brief The other way round: the row and the column of number @p at, which may be past column n. */
void ref_w4_weight_at(const struct ref_w4_shape *shape, size_t at, int *row, int *column);

/** @brief Number @p at of four bits, 0 to 15. */
int ref_w4_number(const float *bytes, size_t at);

/**
 * @brief Some bytes of the shuffled weights.
 * @param[in]  shape   extents and format
 * @param[in]  qweight host, bytes, as the checkpoint stores them
 * @param[in]  first   the first byte that is wanted
 * @param[in]  count   how many are
 * @param[out] bytes   host, f64 [count], -128 to 127
 */
void ref_w4_shuffle(const struct ref_w4_shape *shape, const float *qweight, size_t first, size_t count,
                    double *bytes);

/** @brief The same of the shuffled zeros. */
void ref_w4_shuffle_zeros(const struct ref_w4_shape *shape, const float *qzeros, size_t first, size_t count,
                          double *bytes);

/**
 * @brief W[row, column] = (q - zero) * scale, exact: nine bits times eleven fit a float.
 * @param[in]  shape          extents
 * @param[in]  weights, zeros host, bytes, shuffled
 * @param[in]  scales         host, f32 [k / group, n]
 * @param[out] w              host, f32 [k, n]
 */
void ref_w4_weights(const struct ref_w4_shape *shape, const float *weights, const float *zeros,
                    const float *scales, float *w);

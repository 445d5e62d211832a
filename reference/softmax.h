/**
 * @file softmax.h
 * @brief The oracle of softmax: slow, in float64, and short enough to be checked by reading.
 *
 * What the special values do:
 *
 *     a row of only -infinity   probabilities 0, lse -infinity   (a row that may see nothing)
 *     a NaN anywhere            the whole row NaN, lse NaN
 *     +infinity anywhere        the whole row NaN, lse NaN       (infinity - infinity, as IEEE has it)
 */
#pragma once

#include <stdint.h>

/**
 * @brief Turns one row of scores into probabilities, in place; the largest score is subtracted first.
 * @param[in,out] row   host, f64 [cols]
 * @param[in]     cols  >= 0; an empty row is like one of only -infinity
 * @return the logsumexp of the row, max + log(sum of exp(x - max))
 */
double ref_softmax_row(double *row, int64_t cols);

/**
 * @brief Softmax of every row of a matrix.
 * @param[in]  in    host, f32 [rows, cols]
 * @param[out] out   host, f64 [rows, cols]
 * @param[out] lse   host, f64 [rows], the logsumexp of every row; NULL if not wanted
 * @param[in]  rows  >= 0
 * @param[in]  cols  >= 1
 */
void ref_softmax_rows(const float *in, double *out, double *lse, int64_t rows, int64_t cols);

/**
 * @brief Merges what is known of two pieces of a row into what is known of both together.
 *
 * A piece is summed up by m, its largest value, and l, the sum of exp(x - m) over it. An empty piece is
 * (-infinity, 0); merging it changes nothing. A NaN in either pair makes l NaN, and so does a maximum of
 * +infinity; m then means nothing.
 *
 * @param[in]  m_a, l_a  the first piece
 * @param[in]  m_b, l_b  the second piece
 * @param[out] m, l      the pair of both
 * @see Milakov and Gimelshein 2018, section 3.1
 */
void ref_softmax_merge(double m_a, double l_a, double m_b, double l_b, double *m, double *l);

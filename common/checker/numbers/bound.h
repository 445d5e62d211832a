/**
 * @file bound.h
 * @brief The one place where the size of allowed errors is decided: what a right kernel may lose.
 *
 * **Every element.** A sum of n products in f32 whose roundings are independent is off by about
 * u * sqrt(n) * sum |terms|, and beyond c times that practically never (Higham and Mary 2019, A new approach to
 * probabilistic rounding error analysis); the result is then rounded once more to its storage type:
 *
 *     |out - ref| <= u_out * |ref| + c * u * sqrt(n) * sum |terms|
 *
 * u_out is that of the storage type; u is float's, since all arithmetic is in float.
 * c is 8 for all lessons: four standard deviations of the sum times two, because a product and its addition
 * may round apart, and because a term may itself be the result of an exp (2 ulp, that is 4 u: what CUDA promises
 * for expf and exp2f; the 1.2 |x| ulp that __expf may add are covered where |s - max| enters the bound).
 *
 * **The whole buffer.** sum |terms| ignores that terms cancel, so that bound alone would let results in half
 * precision pass at large n. Where the data cancel, the sums on the way to the result are small, and each step of a
 * computation loses only a share of the sum it has reached (Wilkinson's running error analysis; Higham 2002,
 * Accuracy and Stability of Numerical Algorithms, section 3.3). With S_t, the sum after t terms, the variance of
 * the result's error is
 *
 *     sum over t of R_t * u^2 / 3 * S_t^2        (a rounding is evenly spread over +- u S_t at most)
 *
 * R_t, the roundings of one step, is 1 for an addition. It is 6 for an online softmax which divides
 * after every key, o = (l * alpha * o + p * v) / l_new: two products to rescale, product, addition, 1 / l_new and
 * the product with it. A new maximum brings an alpha that is a rounded exp: 4 u, that is 16 more. Eight standard
 * deviations are allowed. That is also beyond the maximum of any number of elements (of 10^7, one in 10^8 times),
 * and it does not depend on how few there are. bound_columns_add() adds this up for a simple loop. Another order has other
 * sums on the way: where terms are of both signs, c u sum |terms| covers them, being eight standard deviations of a
 * sum that walks at random through terms of about the same size; the larger of the two counts. Errors of the scores and
 * of exp are those of one key each and so independent: they count as the root of their sum of squares. `floor`
 * in lesson.h is all of this, and the largest error of a buffer may be its largest floor plus twice the largest error of
 * one plain f32 computation. So a right kernel passes even if the plain computation happens to be exact.
 *
 * **Steps that round alike.** Roundings are not independent where a computation repeats itself: a weight is
 * added that is too small to change the sum, or the same weight again. Then each step may round in the same
 * direction as the last, and errors add up as in the worst case, u * sum over those t of |S_t| for every rounding
 * (Blanchard, Higham and Higham 2021, Accurately computing the log-sum-exp and softmax functions, give n u for such a
 * sum). A kernel that divides after every key computes o * l * (1 / l) over and over while l stays as it is: four
 * roundings. These terms are in both bounds.
 *
 * **Weights that are rounded before they are multiplied.** Tensor cores take P in 16 bits: w_j = exp(s_j - m) becomes
 * w_j (1 + d_j) with |d_j| <= u_P, that of the storage type, or is off by half its smallest number, t_P, where it is less
 * than normal. Products and sums stay f32. l sums the w_j as they were, so that
 *
 *     out  moves by  sum_j d_j p_j v_j  +  sum_j t_P / l * |v_j|,      1 / l = the largest p, if m is the largest score
 *
 * A kernel may keep an older m, that is smaller: then w_j is larger, and t_P counts for less. The first term is no more than
 * u_P sum |p_j v_j|, whatever the d_j are: that is the bound of every element. It is nearly never reached: d_j that are
 * independent and evenly spread over +- u_P give a standard deviation of u_P sqrt(sum (p_j v_j)^2 / 3). Eight of those, and
 * u_P |out| for what all d_j have in common, are the floor, if that is less.
 *
 * **Products of E4M3.** u_P is 2^-4 there, and t_P 2^-18 of the largest weight, which the contract makes 2^8 times as large as
 * half the smallest number, 2^-10. Sums of such products are f32 by name, but a tensor core of an sm_90 keeps around 14 bits
 * (DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2): an instruction brings 32 products of an element, and what was
 * there, to the largest exponent among them, cuts off what lies below 13 bits of fraction, each towards zero, adds the rest
 * without an error, and cuts the sum off to 13 bits of its own. The exponent of a product is the sum of its factors' exponents.
 * (tests/simt/programs/ptx_wgmma_sums.cu: on an H200 73,728 sums of codes of all sizes are those of this rule, bit for bit.) With R
 * the largest that the sum reaches on its way, or the largest of its terms, a unit is at most 2^-13 R, and n terms t_j lose no
 * more than
 *
 *     sum over j of min(2^-13 R, |t_j|)  +  2 * 2^-13 R * ceil(n / 32)
 *
 * Of a score only those terms count that are no multiple of the unit: most products of E4M3, which have 8 bits, are. All of it
 * counts for the floor, too: what is cut off from terms of one sign goes one way and does not average out.
 *
 * **A rotation in f32.** Before they are rounded to E4M3, rows may be multiplied with signs and a Hadamard matrix: sums of 128 terms
 * +-x_c. f32 additions may do it, in any order, or tensor cores on products in 16 bits, which bring a few terms, and what was there,
 * to the largest exponent among them, cut off each below 23 bits of fraction or further down, add the rest exactly, and cut the sum
 * off in the same way (Fasi, Higham, Mikaitis and Pranesh 2021, Numerical behavior of NVIDIA tensor cores). With M = sum |x_c|, no
 * term and no partial sum, in any order, is larger than M. So each addition is rounded, and each cut is made, at a power of two of
 * at most
 *
 *     U = 2^-23 * the largest power of two that is not above M
 *
 * - Terms that are multiples of U lose nothing, nor do their sums, which are multiples of U below 2^24 U. Numbers in 16 bits within
 *   a factor of 2^6 or so of each other are such: mostly the rotation is exact.
 * - A term that is none may be cut off itself: less than U. From there on sums that it is part of may lose something, too, but a sum
 *   that was cut off at g is a multiple of g, and stays one as multiples of U are added: it loses again only at 2g or more. The
 *   cuts g, 2g, 4g ... U are together less than 2 U. Where two such sums meet, the one with the smaller g goes on so.
 *
 * So k terms that are no multiples of U make an error below 3 k U. If the exact sum is that near to the middle between two numbers of
 * E4M3, either of them is right; and if the largest of a block is that near to where its scale doubles, so is either scale. A value
 * further away has one code, whatever computes it. (unit.checker_e4m3 compares this with models of both kinds of sums.)
 */
#pragma once

#include <math.h>

#include "storage.h"

#define BOUND_U_F32 0x1p-24 /* unit roundoff of float: half an ulp of 1 */
#define BOUND_U_F16 0x1p-11 /* that of half */
#define BOUND_U_BF16 0x1p-8 /* and of bfloat16 */
#define BOUND_C 8.0         /* see above */
#define BOUND_EXP 4.0       /* largest error of an exp, in u: 2 ulp */
#define BOUND_STEP 6.0      /* roundings of one step, see above */
#define BOUND_NEW_MAX 16.0  /* additional roundings of an exp that rescales */
#define BOUND_ALIKE 4.0     /* how many of those roundings may repeat themselves */
#define BOUND_U_E4M3 0x1p-4 /* and of E4M3 */
/* error of rounding a small weight to E4M3, relative to the largest weight, by contract */
#define BOUND_LOST_E4M3 0x1p-18
/* largest error of each term in a sum of products of E4M3, relative to the largest of 32 terms */
#define BOUND_SUM_E4M3 0x1p-13
#define BOUND_SUM_F32 0x1p-23  /* unit of a sum in f32 relative to its size: where it is rounded or cut off */
#define BOUND_TIMES_CUT 3.0    /* how many of these errors one term of a rotation may cause */
#define BOUND_TINY 0x1p-126    /* results below the normal range may be flushed to zero */
#define BOUND_TINY_F16 0x1p-25 /* half the smallest subnormal half; hardware keeps subnormals */
#define BOUND_UNIT_F32 1e-3    /* upper limit of bounds for data of size 1 */
#define BOUND_UNIT_F16 1e-2    /* the limit if results are stored as half */
#define BOUND_UNIT_BF16 8e-2   /* the limit if results are stored as bfloat16, which has three bits less */

/** @brief The error of a sum of @p terms products of total magnitude @p magnitude, in which errors
 *         accumulate. */
static inline double bound_sum(double terms, double magnitude)
{
    return BOUND_C * BOUND_U_F32 * sqrt(terms) * magnitude;
}

/** @brief The error of a few operations at @p magnitude, in which nothing accumulates. */
static inline double bound_floor(double magnitude)
{
    return BOUND_C * BOUND_U_F32 * magnitude + BOUND_TINY;
}

/** @brief Eight standard deviations of a sum, from sum_t R_t S_t^2. */
static inline double bound_running(double squares)
{
    return BOUND_C * BOUND_U_F32 * sqrt(squares / 3.0);
}

/** @brief A sum of positive weights, added term by term in the order of a simple loop. */
struct bound_weights {
    double sum, last, largest;
    double squares; /**< sum_t R_t S_t^2 */
    double alike;   /**< sum of S_t over the steps that may round like the one before */
};

/** @brief Adds a weight; returns 1 if it is too small to change the sum. Weights are relative to the final
 *         maximum. Adding 0 is exact. */
static inline int bound_weights_add(struct bound_weights *s, double weight)
{
    int lost = weight <= 2.0 * BOUND_U_F32 * s->sum;
    int again = fabs(weight - s->last) <= 4.0 * BOUND_U_F32 * weight;
    double roundings = BOUND_STEP + (weight > s->largest ? BOUND_NEW_MAX : 0.0);
    if (weight == 0.0) return 1;
    s->sum += weight;
    s->squares += roundings * s->sum * s->sum;
    if (lost || again) s->alike += s->sum;
    if (weight > s->largest) s->largest = weight;
    s->last = weight;
    return lost;
}

/** @brief The relative error of the sum of weights, where roundings are independent ... */
static inline double bound_weights_running(const struct bound_weights *s)
{
    return s->sum > 0.0 ? bound_running(s->squares) / s->sum : 0.0;
}

/** @brief ... and where they repeat themselves. */
static inline double bound_weights_alike(const struct bound_weights *s)
{
    return s->sum > 0.0 ? BOUND_U_F32 * s->alike / s->sum : 0.0;
}

/** @brief Sums of weight * v, one per column; the arrays are the caller's, zero at first. */
struct bound_columns {
    int count, steps; /**< columns; weights so far */
    double roundings; /**< steps since S_t was last sampled */
    double *sum;      /**< [count] */
    double *squares;  /**< [count] sum_t R_t S_t^2 */
    double *alike;    /**< [count] sum of |S_t| over the steps that may round like the one before */
};

/** @brief Adds a key: its weight, which is also added to @p s, and its values. S_t is sampled at every
 *         third key: often enough, and out of step with data that come in pairs. */
static inline void bound_columns_add(struct bound_columns *c, struct bound_weights *s, double weight,
                                     const float *values)
{
    c->roundings += BOUND_STEP + (weight > s->largest ? BOUND_NEW_MAX : 0.0);
    int lost = bound_weights_add(s, weight);
    for (int d = 0; d < c->count; d++) c->sum[d] += weight * (double)values[d];
    for (int d = 0; d < c->count && lost; d++) c->alike[d] += fabs(c->sum[d]);
    if (++c->steps % 3 != 0) return;
    for (int d = 0; d < c->count; d++) c->squares[d] += c->roundings * c->sum[d] * c->sum[d];
    c->roundings = 0.0;
}

/** @brief The error of the sum of column @p d where roundings are independent; the sum may be complete or
 *         not. */
static inline double bound_columns_running(const struct bound_columns *c, int d)
{
    return bound_running(c->squares[d] + c->roundings * c->sum[d] * c->sum[d]);
}

/** @brief And where they repeat themselves. */
static inline double bound_columns_alike(const struct bound_columns *c, int d)
{
    return BOUND_ALIKE * BOUND_U_F32 * c->alike[d];
}

/** @brief The error of a maximum kept in base 2, as max * log2(e), and multiplied by ln 2 at the end: two
 *         roundings, and those of the constants. */
static inline double bound_base_2(double max)
{
    return isfinite(max) ? 4.0 * BOUND_U_F32 * fabs(max) : 0.0;
}

/** @brief The error of storing the result: its rounding, and results too small to store. */
static inline double bound_stored(double reference)
{
    return BOUND_U_F32 * fabs(reference) + BOUND_TINY;
}

/** @brief The same for any storage type; integers must be exact. */
static inline double bound_stored_as(enum storage storage, double reference)
{
    if (storage == STORAGE_I32 || storage == STORAGE_S8) return 0.0;
    if (storage == STORAGE_BF16) return BOUND_U_BF16 * fabs(reference) + BOUND_TINY;
    return storage == STORAGE_F16 ? BOUND_U_F16 * fabs(reference) + BOUND_TINY_F16 : bound_stored(reference);
}

/** @brief How far the rounding of weights may move an output: at most, and likely. */
struct bound_rounded {
    double most, likely;
};

/** @brief @p magnitude is sum |p v|, @p squares sum (p v)^2, @p size |out|, @p tiny the largest p times sum |v|. */
static inline struct bound_rounded bound_rounded_weights(enum storage storage, double magnitude,
                                                         double squares, double size, double tiny)
{
    int half = storage == STORAGE_F16;
    double u = half ? BOUND_U_F16 : BOUND_U_BF16, lost = (half ? BOUND_TINY_F16 : BOUND_TINY) * tiny;
    double most = u * magnitude, spread = BOUND_C * u * sqrt(squares / 3.0) + u * size;
    return (struct bound_rounded){most + lost, fmin(most, spread) + lost};
}

/** @brief The same for weights in E4M3; @p cut_off is the error of the sum of their products with V. */
static inline struct bound_rounded bound_e4m3_weights(double cut_off, double magnitude, double squares,
                                                      double size, double tiny)
{
    double spread = size + BOUND_C * sqrt(squares / 3.0), lost = BOUND_LOST_E4M3 * tiny + cut_off;
    return (struct bound_rounded){BOUND_U_E4M3 * magnitude + lost,
                                  BOUND_U_E4M3 * fmin(magnitude, spread) + lost};
}

/**
 * @brief An error as a share of what @p bound allows. Rounding to 16 bits may use its part of a bound fully,
 *        never more, and says nothing about the computation: so only the rest of the error counts. That holds
 *        for the rounding of the stored result, and for values rounded on the way, which may move the result
 *        by @p rounding.
 */
static inline double bound_share(enum storage storage, double reference, double error, double bound,
                                 double rounding)
{
    int rounds = storage == STORAGE_F16 || storage == STORAGE_BF16;
    double known = rounding + (rounds ? bound_stored_as(storage, reference) : 0.0);
    if (error == 0.0 || bound <= known) return error == 0.0 ? 0.0 : error / bound;
    return error <= known ? 0.0 : (error - known) / (bound - known);
}

/**
 * @brief The error of float arithmetic that scales an exact integer to @p product and adds @p bias, before
 *        the result is stored. There are four roundings, each of at most u times the value at that point: the
 *        conversion to float, two products and the addition. Twice that is allowed.
 */
static inline double bound_scaled(double product, double bias)
{
    return 2.0 * BOUND_U_F32 * (4.0 * fabs(product) + fabs(bias)) + BOUND_TINY;
}

/** @brief The upper limit of bounds for data of size 1. */
static inline double bound_unit(enum storage storage)
{
    if (storage == STORAGE_BF16) return BOUND_UNIT_BF16;
    return storage == STORAGE_F16 ? BOUND_UNIT_F16 : BOUND_UNIT_F32;
}

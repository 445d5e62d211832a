/**
 * @file bound.h
 * @brief The one place where the size of allowed errors is decided.
 *
 * A sum of n products in f32 whose roundings are independent is off by about u * sqrt(n) * sum |terms| and
 * beyond c times that practically never (Higham and Mary 2019); the result is then rounded once more to its
 * storage type:
 *
 *     |out - ref| <= u_out * |ref| + c * u * sqrt(n) * sum |terms|
 *
 * c is 8 for all lessons: four standard deviations of the sum times two, because a product and its addition
 * may round apart, and because a term may itself be the result of an exp (2 ulp, that is 4 u).
 */
#ifndef WARPWISE_CHECKER_BOUND_H
#define WARPWISE_CHECKER_BOUND_H

#include <math.h>

#define BOUND_U_F32 0x1p-24 /* unit roundoff of float: half an ulp of 1 */
#define BOUND_C 8.0         /* see above */
#define BOUND_TINY 0x1p-126 /* results below the normal range may be flushed to zero */
#define BOUND_UNIT_F32 1e-3 /* never looser than this on data of size 1 */

/** @brief What may accumulate: error of a sum of @p terms products of total magnitude @p magnitude. */
static inline double bound_sum(double terms, double magnitude)
{
    return BOUND_C * BOUND_U_F32 * sqrt(terms) * magnitude;
}

/** @brief What is left of it if nothing accumulates: the error of a few operations at @p magnitude. */
static inline double bound_floor(double magnitude)
{
    return BOUND_C * BOUND_U_F32 * magnitude + BOUND_TINY;
}

/** @brief Rounding of the stored result, and results too small to store. */
static inline double bound_stored(double reference)
{
    return BOUND_U_F32 * fabs(reference) + BOUND_TINY;
}

#endif

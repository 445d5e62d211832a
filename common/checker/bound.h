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
 * u_out is that of the storage type; u is float's, since all arithmetic is in float.
 * c is 8 for all lessons: four standard deviations of the sum times two, because a product and its addition
 * may round apart, and because a term may itself be the result of an exp (2 ulp, that is 4 u).
 */
#ifndef WARPWISE_CHECKER_BOUND_H
#define WARPWISE_CHECKER_BOUND_H

#include <math.h>

#include "storage.h"

#define BOUND_U_F32 0x1p-24    /* unit roundoff of float: half an ulp of 1 */
#define BOUND_U_F16 0x1p-11    /* that of half */
#define BOUND_C 8.0            /* see above */
#define BOUND_TINY 0x1p-126    /* results below the normal range may be flushed to zero */
#define BOUND_TINY_F16 0x1p-25 /* half the smallest subnormal of half, which hardware keeps */
#define BOUND_UNIT_F32 1e-3    /* never looser than this on data of size 1 */
#define BOUND_UNIT_F16 1e-2    /* nor than this where results are stored as half */

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

/** @brief The same for another storage type; whole numbers are right or wrong. */
static inline double bound_stored_as(enum storage storage, double reference)
{
    if (storage == STORAGE_I32) return 0.0;
    return storage == STORAGE_F16 ? BOUND_U_F16 * fabs(reference) + BOUND_TINY_F16 : bound_stored(reference);
}

/** @brief What no bound may exceed on data of size 1. */
static inline double bound_unit(enum storage storage)
{
    return storage == STORAGE_F16 ? BOUND_UNIT_F16 : BOUND_UNIT_F32;
}

#endif

/**
 * @file freivalds.h
 * @brief Freivalds' check (1977) of a product too large to compute: C x against A (B x), in O(mk + kn + mn).
 *
 * C x = alpha op(A) (op(B) x) + beta C0 x holds for any x; here for three random x that a kernel cannot predict. If element (i, j) is off
 * by e_ij, the residual of row i is sum_j e_ij x_j. With x from [-1, 1) it stays below t sqrt(sum_j e_ij^2) = t E sqrt(n) but for one time
 * in exp(t^2 / 2) / 2 (Hoeffding). E, the root mean square of a row's errors, is allowed to be twice that of a plain computation in the
 * rows that were compared element by element, plus the floor. Where n = k = 4096 that is some 1e-4 of a typical element, so a single wrong
 * element among the 4096 of its row shows from about a twentieth of its size on, unless all three x_j happen to be small, and a wrong row
 * or tile shows in any case.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gemm.h"

enum { FREIVALDS_TURNS = 3 };

/* Hoeffding: a row of right results exceeds its limit with probability 2 exp(-8^2 / 2), about 3e-14. */
#define FREIVALDS_DEVIATIONS 8.0

/** @brief A matrix of floats, read as it is stored. */
struct freivalds_matrix {
    const float *data;
    size_t leading; /**< elements from one stored row to the next */
    int transposed; /**< 1: its rows are stored columns */
    size_t rows, columns;
};

/** @brief y[t] = M x[t] for all turns in one pass over M, on all cores. @p x is [FREIVALDS_TURNS, columns], @p y [FREIVALDS_TURNS, rows]. */
void freivalds_multiply(const struct freivalds_matrix *matrix, const double *x, double *y);

/**
 * @brief 1 if @p claimed may be the product; else 0 with the reason, or without memory.
 * @param shape    extents and options
 * @param a, b     not read if alpha is 0
 * @param c        what beta multiplies; not read if beta is 0
 * @param claimed  [m, ldc], the product that is doubted
 * @param allowed  root mean square of the errors that a row may have
 * @param seed     decides x
 * @param of_b     what the words call B
 */
int freivalds_holds(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c,
                    const float *claimed, double allowed, uint64_t seed, const char *of_b, char *reason,
                    size_t size);

/** @brief Says which of @p rows are off by more than @p limit in some turn, NaN included. 1 if none is. */
int freivalds_judge(const double *residual, size_t rows, double limit, const char *of_b, char *reason,
                    size_t size);

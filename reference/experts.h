/**
 * @file experts.h
 * @brief The oracle of a mixture of experts: the choice of a token, pairs by expert, and rows times an expert's matrix, in float64.
 */
#pragma once

#include <stdint.h>

/**
 * @brief Which experts a token takes: those with the largest logits, of equal ones that of the smaller index. A NaN counts as
 *        -infinity in the choice.
 * @param[in]  logits      host, f32 [experts]
 * @param[in]  experts     >= 1
 * @param[in]  top_k       1 to experts
 * @param[in]  renormalise 1: the weights are divided by their sum
 * @param[out] chosen      host, [top_k], the first choice first
 * @param[out] weights     host, f64 [top_k]: softmax of all logits, at those chosen; NaN if a logit is NaN or +infinity, or all are
 *                         -infinity
 */
void ref_experts_route(const float *logits, int experts, int top_k, int renormalise, int *chosen,
                       double *weights);

/**
 * @brief Sorts pairs by expert; pairs of one expert keep their order.
 * @param[in]  chosen  host, [pairs], integers as floats; what is none of 0 to experts - 1 has no row
 * @param[in]  pairs   >= 1
 * @param[in]  experts >= 1
 * @param[out] offsets host, f64 [experts + 1]
 * @param[out] row_of  host, f64 [pairs]: the row, or -1
 */
void ref_experts_group(const float *chosen, int64_t pairs, int experts, double *offsets, double *row_of);

/**
 * @brief A row of A times the transpose of W: n sums of k products.
 * @param[in]  a         host, f64 [k]
 * @param[in]  w         host, f32 [n, k]
 * @param[in]  n         rows of w, >= 1
 * @param[in]  k         columns of a and w, >= 1
 * @param[out] row       host, f64 [n]
 * @param[out] magnitude host, f64 [n]: the sums of the absolute values of the products
 */
void ref_experts_row(const double *a, const float *w, int n, int k, double *row, double *magnitude);

/** @brief x / (1 + exp(-x)). */
double ref_silu(double x);

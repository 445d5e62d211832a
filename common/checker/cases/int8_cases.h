/**
 * @file int8_cases.h
 * @brief Products of 8-bit integers: the cases of every product (gemm_cases.h), and those that exact sums and
 *        scales need.
 *
 * Sums are compared with all of their 32 bits: one that is off by 1 is wrong.
 */
#pragma once

#include "gemm_cases.h"
#include "protocol/int8_items.h"

/** @brief lesson_case.distribution; here GEMM_NORMAL means: all bytes equally often, and scales of about
 *         1/128. */
enum int8_distribution {
    INT8_LOWEST = GEMM_DISTRIBUTIONS, /* -128 times -128: the largest sums */
    INT8_OPPOSITE,                    /* -128 times 127: the smallest */
    /* rows and columns of -128 and of 127 alternate: the largest and the smallest sums side by side, some
     * of them odd */
    INT8_EXTREMES,
    INT8_RETURNING,       /* the second half of k takes away what the first half adds up */
    INT8_POSITIVE,        /* from 64 to 127: sums beyond 2^24, which a float would round */
    INT8_SCALES_NEGATIVE, /* those of some rows and some columns */
    INT8_SCALES_ZERO,
    INT8_SCALES_NAN,
    INT8_SCALES_INFINITE,
    INT8_BIAS_NAN,
    INT8_BIAS_INFINITE,
    INT8_BIAS_LARGE, /* a large bias, beside which products are small */
    INT8_TINY,       /* results of about 2^-80, and a bias as small: they must not become 0 */
    /* some results are beyond 65504, the largest half, others only so little beyond it that they round to
     * it */
    INT8_TO_INFINITY,
    INT8_TO_SUBNORMAL, /* results are subnormal halves */
    INT8_DISTRIBUTIONS
};

/** @brief lesson_case.extent: 1 if there is a bias. A product of bytes has no choices. */
enum { INT8_EX_BIAS = GEMM_EX_CHOICES };

/**
 * @brief Element at @p p along k of row @p line of op(A), or of column @p line of op(B); @p random is its
 *        random number.
 */
double int8_element(const struct lesson_case *item, int index, int line, int p, uint64_t random);

/** @brief Appends the cases of a part: those of gemm_cases(), and those that only products of bytes have. */
int int8_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity);

/** @brief Callbacks with the names they have in struct lesson; for the others the callbacks of every
 *         product serve. */
void int8_vary(struct lesson_case *item, int index, struct rng *rng);
int int8_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void int8_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
void int8_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                 struct lesson_expectation *expectation);
int int8_identity(const struct lesson_case *item, const float *const *data, const float *const *got,
                  const double *allowed, uint64_t seed, char *reason, size_t size);
int int8_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess);
int int8_trait(const struct lesson_case *item, int index, const char **message);
const char *int8_purpose(const struct lesson_case *item);
void int8_cost(const struct lesson_case *item, struct lesson_cost *cost);
void int8_describe(const struct lesson_case *item, char *text, size_t size);

/** @brief The members of struct lesson that are the same in every lesson on products of bytes. */
#define INT8_CALLBACKS                                                                                       \
    .vary = int8_vary, .buffers = int8_buffers, .fill = int8_fill, .units = gemm_units,                      \
    .unit_elems = gemm_unit_elems, .prepare = gemm_prepare, .expect = int8_expect,                           \
    .identity = int8_identity, .guess = int8_guess, .terms = gemm_terms, .trait = int8_trait,                \
    .cost = int8_cost, .workspace_bytes = gemm_workspace_bytes, .describe = int8_describe,                   \
    .purpose = int8_purpose, .turns = "a b", .distributions = INT8_DISTRIBUTIONS

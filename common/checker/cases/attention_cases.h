/**
 * @file attention_cases.h
 * @brief The cases that every attention lesson has, their inputs, oracle and bounds.
 *
 * A lesson file names the parts it has and gets the rest from here: see checker/lessons/01_naive_attention.c.
 */
#pragma once

#include "attention_inputs.h"
#include "lesson.h"

/**
 * @brief What makes one attention lesson differ from another.
 *
 * A lesson with several storage types is several families, one per part, and calls attention_cases() for
 * each.
 */
struct attention_family {
    int part[ATTENTION_KINDS]; /**< index of the part that computes this kind, -1 for none */
    int max_head_dim;          /**< 0 for any; ignored if tiled */
    enum attention_workspace workspace;
    const char *name; /**< name of the ATTENTION_WHOLE part, NULL for "attention" */
    enum dtype dtype; /**< how q, k, v and out are stored */
    enum attention_tiles tiled;
};

/** @brief Appends the cases of @p family to @p cases, of which @p count are there; returns the new count. */
int attention_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                    int capacity);

/** @brief Drops cases of edges and of numerics, from @p first on, that test nothing new beside an earlier one: for a part whose kernel
 *         differs from another part's in conversions only. Returns the new count. */
int attention_one_of_a_kind(struct lesson_case *cases, int first, int count);

/** @brief A case of one lesson alone: a shape and data of its own. */
struct attention_own_case {
    const char *name;
    enum case_group group;
    unsigned devices;
    int batch, heads, kv_heads, q_len, kv_len, head_dim, causal;
    double scale;
    enum attention_distribution distribution;
};

/** @brief Appends the @p row_count cases at @p rows to part @p part; what a row does not say is as in the
 *         part's case @p like. Returns the new count. */
int attention_own_cases(const char *part, const char *like, const struct attention_own_case *rows,
                        size_t row_count, struct lesson_case *cases, int count, int capacity);

/** @brief The cases of a lesson whose parts are scores, softmax, output and the whole, in f32; attention_parts.h is the
 *  runner's side of it. */
int attention_cases_in_parts(struct lesson_case *cases, int capacity);

void attention_vary(struct lesson_case *item, int index, struct rng *rng);
size_t attention_units(const struct lesson_case *item);
size_t attention_unit_elems(const struct lesson_case *item);
void attention_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                      struct lesson_expectation *expectation);
int attention_intermediate(const struct lesson_case *item, const float *const *data, size_t unit,
                           double *scratch, struct lesson_span *span);
int attention_holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                    const float *const *got_before, char *reason, size_t size);
int attention_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                    size_t at, struct lesson_guess *guess);
int attention_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                         unsigned *holding, char *words, size_t size);
int attention_trait(const struct lesson_case *item, int index, const char **message);
const char *attention_purpose(const struct lesson_case *item);
void attention_cost(const struct lesson_case *item, struct lesson_cost *cost);
void attention_describe(const struct lesson_case *item, char *text, size_t size);

/** @brief The members of struct lesson that have the same value in every attention lesson: those on cases
 *         and those on properties. */
#define ATTENTION_CALLBACKS ATTENTION_CASES, .vary = attention_vary, .holds = attention_holds
#define ATTENTION_CASES                                                                                      \
    .buffers = attention_buffers, .fill = attention_fill, .units = attention_units,                          \
    .unit_elems = attention_unit_elems, .expect = attention_expect, .intermediate = attention_intermediate,  \
    .guess = attention_guess, .not_finite = attention_not_finite, .trait = attention_trait,                  \
    .cost = attention_cost, .workspace_bytes = attention_workspace_bytes, .describe = attention_describe,    \
    .turns = "q k v", .purpose = attention_purpose, .distributions = DIST_COUNT

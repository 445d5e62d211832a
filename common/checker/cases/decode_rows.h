/**
 * @file decode_rows.h
 * @brief Shared by the lessons on decode, with paged or contiguous caches: how queries, keys and values are
 *        distributed, and the oracle's bounds of one row of the output.
 */
#pragma once

#include "lesson.h"
#include "paged_kv.h"

/** @brief How the data are distributed. */
enum distribution {
    NORMAL,
    LARGE,
    EQUAL,
    RISING,
    FALLING,
    DOMINANT,
    BELOW, /* all scores near -20,000 */
    /* the third key's score lies 14 above all others: each later tile has a weight below a thousandth,
     * which still counts */
    EARLY,
    FAINT, /* one key, whose value is 0, lies so far above all others that their weights are about exp(-22) */
    FAINT_PARTS, /* as FAINT, but half of the keys take the weight */
    LOWEST,      /* all scores below -1e30, with a scale of 2^90 */
    NAN_KEY,
    NAN_VALUE,
    NAN_WEIGHTLESS, /* a NaN in a value whose weight is 0 */
    NAN_OVERTAKEN,  /* a NaN in a value whose weight becomes 0 when a later key lies far above all others */
    INFINITE_KEY,
    /* infinities of either sign in the value of one token, at every place within a vector load */
    INFINITE_VALUE,
    LARGE_VALUES, /* near the largest half, of either sign: the sum exceeds it before it is divided */
    STEEP,        /* slopes of 1e37 */
    OUTWEIGHED, /* slopes of OUTWEIGHED_SLOPE, and what the distance takes from a score its key gives back */
    NAN_REST,
    CHEAP
};
enum { MOST_HEAD_DIM = 256, OUTWEIGHED_SLOPE = 16 };

/** @brief The key or the value of token @p t of sequence @p b; the sequence has @p length tokens. */
struct decode_token {
    enum distribution distribution;
    int key; /**< 1: the key, 0: the value */
    int b, t, length, head_dim;
};

/** @brief Fills its @p width elements: one K/V head after the other. */
void decode_fill_row(const struct decode_token *token, float *row, size_t width, struct rng *rng);

/** @brief Multiples of 1/64 in [-2, 2), exact in half: for data so large that normal numbers would take
 *         too long. */
void decode_fill_cheaply(float *row, size_t count, struct rng *rng);

/** @brief Queries of @p head_dim elements each, @p elems in all. */
void decode_fill_query(enum distribution distribution, int head_dim, size_t elems, struct rng *rng,
                       float *data);

/** @brief What a case with such data tests; NULL where that is plain, and for NAN_REST, which depends on
 *         the cache. */
const char *decode_purpose(enum distribution distribution);

/** @brief One row of the output: what the oracle needs for it, and its result. */
struct decode_row {
    int length, head_dim;
    enum storage storage; /**< of the output */
    struct ref_paged_query query;
    struct ref_paged_result exact;
};

/** @brief Fills expected, bound, plain and floor of @p span; @p scratch has room for a weight per key. */
void decode_row_expect(struct decode_row *row, double *scratch, int unit_scale, struct lesson_span *span);

/**
 * @file attention_e4m3.h
 * @brief Q, K and V rounded to E4M3 as contracts/e4m3_blocks.h says, for the oracle of a part that rounds
 *        them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../numbers/storage.h"

/** @brief Added to a seed: as if rotated rows were rounded to the storage type before they are rounded to E4M3. */
#define E4M3_ROTATED_STORED ((int64_t)1 << 32)
/** @brief In place of a seed, too: l is the sum of weights that were rounded to E4M3. */
#define E4M3_L_OF_ROUNDED ((int64_t)1 << 33)
/** @brief In place of a seed, too: the scale of V is that of its first 4096 rows. */
#define E4M3_V_OF_4096 ((int64_t)1 << 34)

/** @brief A query row and the keys and values it is multiplied with, as floats. */
struct e4m3_rows {
    const float *q;
    float *k, *v;
    /** For each number of q and of k: 0, or the distance to the other code that it may have become. A
     *  rotation sums up in f32, in any order, on tensor cores or not; where the exact sum is that close to
     *  the midpoint of two codes, either is right. Likewise where the largest of a block is that close to
     *  the value at which its scale doubles. */
    const float *q_slack;
    float *k_slack;
    /** Kept for the next row: the block of q that the row belongs to, and where q and k came from. */
    float *queries, *queries_slack;
    const float *of_queries, *of_k;
    double *memory; /**< [E4M3_ROWS, 128] of one rotated block */
};

/** @brief The E4M3 number nearest to @p x, ties to even, at most 448 in size; NaN stays NaN. */
double e4m3_nearest(double x);

/**
 * @brief Rounds a row of queries with the block it belongs to, and all keys and values of a head.
 * @param[in,out] kept NULL at first; from then on what was rounded last, for the next row of the same q, k and v or of others of
 *                the same sizes. The caller frees it, with all that is returned
 * @param q      [q_len, 128] of a head
 * @param query  which row of it
 * @param k, v   [kv_len, 128]
 * @param seed   of the rotation, 0: none; with E4M3_ROTATED_STORED, what is rotated is rounded to @p storage first
 * @return what they became, until the next call; NULL for want of memory
 */
const struct e4m3_rows *e4m3_rows(void **kept, const float *q, int q_len, int query, const float *k,
                                  const float *v, int kv_len, int64_t seed, enum storage storage);

/** @brief How far a score may be off because of the slack of @p q and of row @p key of k, before it is scaled. */
double e4m3_score_slack(const struct e4m3_rows *rounded, size_t key);

/** @brief What the products of a score's sum may lose, before it is scaled: bound.h, "Products of E4M3". */
double e4m3_score_cut_off(const struct e4m3_rows *rounded, size_t key);

/** @brief The same for the sum of @p count weights times column @p column of V; the weights may be rounded in any way. */
double e4m3_output_cut_off(const struct e4m3_rows *rounded, const double *weights, size_t count, int column);

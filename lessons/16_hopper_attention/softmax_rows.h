/**
 * @file softmax_rows.h
 * @brief Given: the online softmax of lesson 12 on the registers of a warpgroup, and what to do about NaN behind a mask.
 *
 * A thread holds parts of two rows, g = lane / 4 and g + 8 of its warp's 16; the index h below is 0 or 1. Element i of an
 * array of sums belongs to row i / 2 % 2 and to column 8 (i / 4) + 2 (lane % 4) + i % 2 (wgmma_attention.h).
 */
#ifndef WARPWISE_SOFTMAX_ROWS_H
#define WARPWISE_SOFTMAX_ROWS_H

#include "attention_tiles.h"
#include "e4m3_rows.h" // the same for E4M3
#include "warp_matrix.h"

#define LOG2_E 1.44269504f  ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has
#define LN_2 0.69314718f    ///< 1 / LOG2_E
#define SLACK 8.0f          ///< how far m may be below the largest score: weights are at most 2^8
#define FAR_AWAY 1048576.0f ///< if |m| is larger, m is rounded coarsely, and scores must be rounded alike

/** @brief What a thread knows of its two rows. */
template <int SUMS> struct row_state {
    float m[2];    /**< largest score so far, times log2(e), or up to SLACK less */
    float l[2];    /**< sum of exp2(score - m), this thread's keys */
    float o[SUMS]; /**< sum of exp2(score - m) * V */
};

/** @brief Nothing seen yet. */
template <int SUMS> __device__ inline void clear_rows(struct row_state<SUMS> *rows)
{
    rows->m[0] = rows->m[1] = -INFINITY, rows->l[0] = rows->l[1] = 0.0f;
#pragma unroll
    for (int i = 0; i < SUMS; i++) rows->o[i] = 0.0f;
}

/** @brief The first row, within the tile of queries, of this thread: row h is 8h further. */
template <typename SIZE> __device__ inline int first_row(void)
{
    int thread = (int)threadIdx.x - SIZE::PRODUCERS * WARPGROUP;
    return thread / 32 * 16 + thread % 32 / 4;
}

/** @brief The largest @p value of the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, 1));
    return fmaxf(value, __shfl_xor_sync(ALL_LANES, value, 2));
}

/** @brief The sum over the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_sum(float value)
{
    value += __shfl_xor_sync(ALL_LANES, value, 1);
    return value + __shfl_xor_sync(ALL_LANES, value, 2);
}

/** @brief Products times @p factor: with a negative scale the smallest product is the largest score, and they change their signs. */
template <int SCORES> __device__ inline void multiply_scores(float (&s)[SCORES], float factor)
{
#pragma unroll
    for (int i = 0; i < SCORES; i++) s[i] *= factor;
}

/** @brief Products of keys that a row does not see become -infinity; row h sees the first @p seen[h] of the tile's. */
template <int SCORES> __device__ inline void mask_scores(float (&s)[SCORES], const int seen[2])
{
    int key = (int)threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < SCORES; i++)
        if (key + i / 4 * 8 + i % 2 >= seen[i / 2 % 2]) s[i] = -INFINITY;
}

/** @brief The largest of row @p h. Four maxima are found side by side, since each fmaxf waits for the one before it. */
template <int SCORES> __device__ inline float row_largest(const float (&s)[SCORES], int h)
{
    float each[4];
#pragma unroll
    for (int j = 0; j < 4; j++) each[j] = s[j / 2 * 4 + 2 * h + j % 2];
#pragma unroll
    for (int i = 8; i < SCORES; i += 8)
#pragma unroll
        for (int j = 0; j < 4; j++) each[j] = fmaxf(each[j], s[i + j / 2 * 4 + 2 * h + j % 2]);
    return row_max(fmaxf(fmaxf(each[0], each[1]), fmaxf(each[2], each[3])));
}

/**
 * @brief 2^x as exp2_fast() has it, but by additions and multiplications, which are another unit's work: the nearest integer goes
 *        to the exponent, a polynomial of degree 5, off by 1.1e-7 at most, does the rest.
 */
__device__ inline float exp2_polynomial(float x)
{
    float shifted = x + 0x1.8p23f, rest = x - (shifted - 0x1.8p23f); // the integer is in the lowest bits
    float y = fmaf(rest, 0.0013390863f, 0.0096760319f);
    y = fmaf(y, rest, 0.0555035711f);
    y = fmaf(y, rest, 0.2402210749f);
    y = fmaf(y, rest, 0.6931471880f);
    y = fmaf(y, rest, 1.0f);
    float power = __int_as_float((int)((unsigned)__float_as_int(shifted) << 23) + 0x3f800000);
    return x < -126.0f ? 0.0f : y * power; // a NaN stays one
}

/**
 * @brief One step of online softmax: products become weights, exp2(scale * product - m), and are added to l. It does not touch
 *        the sums of O, to which a product may still be adding.
 * @param s          the products, then the weights
 * @param rows       m and l of this thread's two rows
 * @param scale      >= 0
 * @param correction what the sums of O of each row are to be multiplied with before weights of this tile come to them
 * @return 1 in all lanes if the correction of a row of the warp is not 1
 *
 * With HEADROOM a new m is that much below the largest score, so that weights use what E4M3 has above 1, too: at most 2^SLACK.
 */
template <int HEADROOM = 0, int SCORES, int SUMS>
__device__ inline int weigh_scores(float (&s)[SCORES], struct row_state<SUMS> *rows, float scale,
                                   float correction[2])
{
    int rises = 0, far_away = 0;
    float shift[2], l[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        // Each row by itself: what one row sees must not change how another one is rounded.
        float largest = row_largest<SCORES>(s, h) * scale, before = rows->m[h];
        float lower = HEADROOM > 0 && fabsf(largest) < FAR_AWAY ? largest - HEADROOM : largest;
        rows->m[h] = largest > before + SLACK ? lower : before;
        shift[h] = shift_of(rows->m[h]);
        correction[h] = rows->m[h] == before ? 1.0f : exp2_fast(before - shift[h]);
        rises |= rows->m[h] != before;
        far_away |= fabsf(shift[h]) > FAR_AWAY;
    }
    if (__any_sync(ALL_LANES, far_away)) { // rare
#pragma unroll
        for (int i = 0; i < SCORES; i++)
            if (fabsf(shift[i / 2 % 2]) > FAR_AWAY)
                s[i] = __fmul_rn(s[i], scale) - shift[i / 2 % 2];
            else
                s[i] = fmaf(s[i], scale, -shift[i / 2 % 2]);
    } else {
#pragma unroll
        for (int i = 0; i < SCORES; i++) s[i] = fmaf(s[i], scale, -shift[i / 2 % 2]);
    }
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        // In E4M3 exp2 takes as long as both products: one in sixteen goes another way.
        s[i] = HEADROOM > 0 && i % 16 == 0 ? exp2_polynomial(s[i]) : exp2_fast(s[i]);
        l[i % 4] += s[i];
    }
#pragma unroll
    for (int h = 0; h < 2; h++) rows->l[h] = rows->l[h] * correction[h] + (l[2 * h] + l[2 * h + 1]);
    return __any_sync(ALL_LANES, rises);
}

/** @brief Weights rounded to 16 bits, two to a register: fragments A for the product with V. */
template <typename T, int SCORES>
__device__ inline void round_weights(uint32_t (&p)[SCORES / 2], const float (&s)[SCORES])
{
#pragma unroll
    for (int i = 0; i < SCORES / 2; i++) p[i] = pack_elements<T>(s[2 * i], s[2 * i + 1]);
}

/** @brief What was summed up so far refers to the old m: it is corrected to the new one. */
template <int SUMS> __device__ inline void rescale_sums(float (&o)[SUMS], const float correction[2])
{
#pragma unroll
    for (int i = 0; i < SUMS; i++) o[i] *= correction[i / 2 % 2];
}

/* ---- an infinity or a NaN in V behind the mask ------------------------------------------------------------- */

/** @brief 1 if rows @p first to @p end - 1 of a tile of V hold an infinity or a NaN in what this thread of 128 looks at. */
template <typename T, typename SIZE> __device__ inline int special_values(const char *v, int first, int end)
{
    constexpr int ACROSS = ROW_BYTES / 16; // 16-byte columns of a block
    int thread = (int)threadIdx.x % WARPGROUP, special = 0;
    for (int row = max(first, 0) + thread / ACROSS; row < end; row += WARPGROUP / ACROSS)
#pragma unroll
        for (int block = 0; block < SIZE::COLUMN_BLOCKS; block++) {
            const char *at = v + block * SIZE::KV_BLOCK_BYTES + swizzled(row, thread % ACROSS * 16);
            uint4 x = *(const uint4 *)at;
            special |= not_finite<T>(x.x) | not_finite<T>(x.y) | not_finite<T>(x.z) | not_finite<T>(x.w);
        }
    return special;
}

/**
 * @brief What the product of P with V would add, without the keys that a row does not see: there the weight is 0, and 0 * NaN is
 *        NaN. Slow; needed only where V holds an infinity or a NaN behind the mask. All lanes of a warp must call it.
 */
template <typename T, typename SIZE>
__device__ inline void add_one_by_one(float (&o)[SIZE::SUMS], const uint32_t (&p)[SIZE::WEIGHTS],
                                      const char *v, const int seen[2])
{
    int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < SIZE::WEIGHTS / 4; step++)
#pragma unroll 1
        for (int key = 0; key < MMA_K; key++) {
            float weight[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                uint32_t pair = key < 8 ? p[4 * step + h] : p[4 * step + 2 + h];
                pair = __shfl_sync(ALL_LANES, pair, lane / 4 * 4 + key % 8 / 2);
                weight[h] = unpack_element<T>(pair, key % 2);
            }
            int row = step * MMA_K + key;
#pragma unroll
            for (int i = 0; i < SIZE::SUMS; i += 4) {
                const char *block = v + i / 32 * SIZE::KV_BLOCK_BYTES; // of 64 columns: 32 sums
                uint32_t x = *(const uint32_t *)(block + swizzled(row, i % 32 * 4 + lane % 4 * 4));
#pragma unroll
                for (int c = 0; c < 4; c++)
                    if (row < seen[c / 2]) o[i + c] += weight[c / 2] * unpack_element<T>(x, c % 2);
            }
        }
}

/**
 * @brief Adds P V one by one if V holds an infinity or a NaN that some row must not see. All threads of a consumer must call it.
 * @param rows    of this thread
 * @param p       the weights
 * @param v       the tile of V
 * @param answers shared memory for a word of each of the consumer's warps
 * @param seen    how many keys of the tile the thread's rows see
 * @param fewest  how many all rows of the consumer see
 * @param end     how many there are
 * @return 1 if V held one and P V has been added, else 0
 */
template <typename T, typename SIZE>
__device__ inline int add_hidden_values(struct row_state<SIZE::SUMS> *rows,
                                        const uint32_t (&p)[SIZE::WEIGHTS], const char *v, int *answers,
                                        const int seen[2], int fewest, int end)
{
    int warp = (int)threadIdx.x % WARPGROUP / 32, name = OWN_BARRIER + consumer<SIZE>();
    if (fewest >= end) return 0;
    int special = SIZE::ELEMENT_BYTES == 1 ? e4m3_special_values(v, fewest, end)
                                           : special_values<T, SIZE>(v, fewest, end);
    special = __any_sync(ALL_LANES, special);
    if (threadIdx.x % 32 == 0) answers[warp] = special;
    async_proxy_fence();            // V has been read by ordinary loads: TMA overwrites it later
    named_barrier(name, WARPGROUP); // all answers are there
    special = __any_sync(ALL_LANES, answers[threadIdx.x % 4]); // the same branch for all, as wgmma needs it
    named_barrier(name, WARPGROUP);                            // all have read them: the next ones may come
    if (!special) return 0;
    if (SIZE::ELEMENT_BYTES == 1)
        e4m3_add_one_by_one<SIZE>(rows->o, p, v, seen);
    else
        add_one_by_one<T, SIZE>(rows->o, p, v, seen);
    async_proxy_fence();
    named_barrier(name, WARPGROUP); // nobody reads V any more
    return 1;
}

#endif

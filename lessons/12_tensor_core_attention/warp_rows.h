/**
 * @file warp_rows.h
 * @brief Given: how the rows, keys and columns of attention are divided among the warps and lanes of a block.
 *
 * A warp has ROW_BLOCKS blocks of 16 query rows. S is KEY_BLOCKS fragments C of 16 x 8 per block of rows, O is COLUMN_BLOCKS
 * of them (warp_matrix.h). So a lane holds row g = lane / 4 of each block of rows, index [0] below, and row g + 8, index
 * [1]; of eight keys or columns it holds 2t and 2t + 1, t = lane % 4. The four lanes with one g share their rows.
 */
#ifndef WARPWISE_WARP_ROWS_H
#define WARPWISE_WARP_ROWS_H

#include "attention_rows.h"
#include "warp_matrix.h"

enum {
    WARP = 32,
    WARPS = 4,
    THREADS = WARP * WARPS,
    CHUNK = 8 ///< elements of 16 bytes: what cp.async copies, and what a row of an 8 x 8 matrix is
};

#define ALL_LANES 0xffffffffu ///< of a warp

/** @brief Sizes that depend on head_dim, such that O, S and the tiles fit in registers and shared memory. */
template <int HEAD_DIM> struct sizes {
    enum {
        ROW_BLOCKS = HEAD_DIM == 256 ? 1 : 2, ///< 16 rows each, of a warp
        WARP_ROWS = 16 * ROW_BLOCKS,          ///< query rows of a warp
        TILE_Q = WARPS * WARP_ROWS,           ///< query rows of a block: 128, or 64 if head_dim is 256
        TILE_KV = HEAD_DIM == 128 ? 32 : 64,  ///< keys of a tile
        KEY_BLOCKS = TILE_KV / 8,             ///< fragments C of S, across
        COLUMN_BLOCKS = HEAD_DIM / 8,         ///< fragments C of O, across
        STEPS = HEAD_DIM / 16,                ///< fragments A of Q, across
        Q_STAYS = HEAD_DIM == 64,             ///< in registers; otherwise O needs them
        KEPT_STEPS = Q_STAYS ? STEPS : 1      ///< of Q, in registers at a time
    };
};

/** @brief What a block keeps in shared memory: rows without padding, whose chunks are swizzled. */
template <typename T, int HEAD_DIM> struct shared_tiles {
    T q[sizes<HEAD_DIM>::TILE_Q][HEAD_DIM];  ///< in the end O
    T k[sizes<HEAD_DIM>::TILE_KV][HEAD_DIM]; ///< keys of the current tile
    T v[sizes<HEAD_DIM>::TILE_KV][HEAD_DIM]; ///< and their values
};

/** @brief What a lane knows of its rows. */
template <int HEAD_DIM> struct row_state {
    float m[sizes<HEAD_DIM>::ROW_BLOCKS][2]; ///< largest score so far, times log2(e), or up to SLACK less
    float l[sizes<HEAD_DIM>::ROW_BLOCKS][2]; ///< sum of exp2(score - m), this lane's keys
    float o[sizes<HEAD_DIM>::ROW_BLOCKS][sizes<HEAD_DIM>::COLUMN_BLOCKS][4]; ///< sum of exp2(score - m) * V
};

/** @brief S, then P, of a warp's rows and a tile's keys. */
template <int HEAD_DIM> struct scores {
    float s[sizes<HEAD_DIM>::ROW_BLOCKS][sizes<HEAD_DIM>::KEY_BLOCKS][4]; ///< fragments C
};

/** @brief The fragments A of a warp's rows of Q: of all steps, or of one. */
template <int HEAD_DIM> struct query_fragments {
    uint32_t a[sizes<HEAD_DIM>::KEPT_STEPS][sizes<HEAD_DIM>::ROW_BLOCKS][4]; ///< by step
};

/** @brief How many keys of the current tile each row of a lane sees: counted from the tile's first key on, may be < 0. */
template <int HEAD_DIM> struct visible_keys {
    int row[sizes<HEAD_DIM>::ROW_BLOCKS][2]; ///< row g, row g + 8
    int fewest;                              ///< of the warp's rows
    int most;                                ///< of the warp's rows
};

/** @brief Which tile of queries a block works on, and where its head begins. */
struct query_tile {
    int bh;    ///< batch * heads + head
    int kv_bh; ///< batch * kv_heads + K/V head that this head reads
    int first; ///< first query of the tile
    int rows;  ///< queries in the tile: TILE_Q, or what is left at the end of the head
};

/** @brief First row, within the tile, of this warp. */
template <int HEAD_DIM> __device__ inline int first_row_of_warp(void)
{
    return (int)threadIdx.x / WARP * sizes<HEAD_DIM>::WARP_ROWS;
}

/** @brief The state of rows that have seen no key yet. */
template <int HEAD_DIM> __device__ inline void clear_rows(struct row_state<HEAD_DIM> *rows)
{
#pragma unroll
    for (int i = 0; i < sizes<HEAD_DIM>::ROW_BLOCKS; i++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            rows->m[i][c / 2] = -INFINITY;
            rows->l[i][c / 2] = 0.0f;
#pragma unroll
            for (int n = 0; n < sizes<HEAD_DIM>::COLUMN_BLOCKS; n++) rows->o[i][n][c] = 0.0f;
        }
}

/** @brief Multiplies all scores by @p factor; a factor of 0 makes them 0, infinities and NaN too. */
template <int HEAD_DIM> __device__ inline void multiply_scores(struct scores<HEAD_DIM> *p, float factor)
{
#pragma unroll
    for (int i = 0; i < sizes<HEAD_DIM>::ROW_BLOCKS; i++)
#pragma unroll
        for (int j = 0; j < sizes<HEAD_DIM>::KEY_BLOCKS; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) p->s[i][j][c] = factor == 0.0f ? 0.0f : factor * p->s[i][j][c];
}

/** @brief Which keys of the tile that begins with key @p first this warp's rows see. */
template <int HEAD_DIM>
__device__ inline void find_visible(struct visible_keys<HEAD_DIM> *seen, const struct attention_args &args,
                                    struct query_tile tile, int first)
{
    int query = tile.first + first_row_of_warp<HEAD_DIM>(), lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < 2 * sizes<HEAD_DIM>::ROW_BLOCKS; i++)
        seen->row[i / 2][i % 2] = keys_seen(args, min(query + lane / 4 + i * 8, args.q_len - 1)) - first;
    seen->fewest = keys_seen(args, min(query, args.q_len - 1)) - first;
    seen->most = keys_seen(args, min(query + sizes<HEAD_DIM>::WARP_ROWS, args.q_len) - 1) - first;
}

/** @brief 1 in all lanes if one of them has an element in @p b that is infinite or NaN. All 32 lanes must call it. */
template <typename T> __device__ inline int any_special(const uint32_t b[4])
{
    int special = not_finite<T>(b[0]) | not_finite<T>(b[1]) | not_finite<T>(b[2]) | not_finite<T>(b[3]);
    return __any_sync(ALL_LANES, special);
}

/**
 * @brief What multiply_add() would do to two fragments of O, without the keys that a row does not see: there the weight is
 *        0, and 0 * NaN is NaN. Slow; needed only where V holds an infinity or a NaN beside the mask.
 *
 * All 32 lanes must call it.
 * @param o     fragments C of 16 rows and two times 8 columns
 * @param a     the weights: a fragment A
 * @param b     the values: b[0], b[1] a fragment B for the first 8 columns, b[2], b[3] for the others
 * @param seen  how many keys the lane's rows see, counted as @p first is
 * @param first the first of the 16 keys
 */
template <typename T>
__device__ inline void add_one_by_one(float o[2][4], const uint32_t a[4], const uint32_t b[4],
                                      const int seen[2], int first)
{
    int lane = (int)threadIdx.x % WARP;
#pragma unroll 1
    for (int key = 0; key < 16; key++)
#pragma unroll
        for (int c = 0; c < 8; c++) { // two fragments, rows g and g + 8, two columns
            int h = c % 4 / 2, column = lane % 4 * 2 + c % 2;
            uint32_t weights = key < 8 ? a[h] : a[2 + h];
            uint32_t values = key < 8 ? b[c / 4 * 2] : b[c / 4 * 2 + 1];
            weights = __shfl_sync(ALL_LANES, weights, lane / 4 * 4 + key % 8 / 2);
            values = __shfl_sync(ALL_LANES, values, column * 4 + key % 8 / 2);
            if (first + key < seen[h])
                o[c / 4][c % 4] += unpack_element<T>(weights, key % 2) * unpack_element<T>(values, key % 2);
        }
}

#endif

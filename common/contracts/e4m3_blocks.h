/**
 * @file e4m3_blocks.h
 * @brief Blocks of E4M3 numbers that share a scale, and the signs of a random rotation: what a contract promises of them, in plain C.
 *
 * E4M3 has a sign, four bits of exponent and three of fraction: +-448 at most, 2^-6 at least where it is normal, multiples of
 * 2^-9 below that, one NaN and no infinity. A block of numbers x is stored as codes, the E4M3 nearest to x / scale (ties to
 * even), and one scale, which is a power of two: so the quotient is exact, and the only error is the rounding to E4M3.
 */
#ifndef WARPWISE_E4M3_BLOCKS_H
#define WARPWISE_E4M3_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "attention_args.h"

/** @brief Of a function that C and device code call. */
#ifdef __CUDACC__
#define E4M3_HOST_DEVICE __host__ __device__
#else
#define E4M3_HOST_DEVICE
#endif

/** @brief Sizes of blocks. */
enum {
    E4M3_ROWS = 128,    /**< rows of Q, or of K, that share a scale; V of a K/V head has one scale for all */
    E4M3_COLUMNS = 128, /**< head_dim: the only one */
    E4M3_LARGEST = 448
};

/**
 * @brief The scale of a block whose largest finite size is @p largest: the smallest power of two, but at least 2^-100, by which
 *        it is at most 448.
 */
E4M3_HOST_DEVICE static inline float e4m3_scale(float largest)
{
    uint32_t bits;
    memcpy(&bits, &largest, sizeof bits);
    uint32_t exponent = bits >> 23;
    if ((bits & 0x7fffff) > 0x600000) exponent++; // more than 1.75 times a power of two; 448 is 1.75 * 2^8
    exponent = exponent < 27 + 8 ? 27 : exponent - 8;
    bits = exponent << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

/**
 * @brief The signs of a rotation: where bit c % 32 of word c / 32 is set, column c changes its sign before the Hadamard matrix
 *        is applied. No rotation at all belongs to @p seed 0.
 */
static inline void rotation_signs(uint32_t seed, uint32_t signs[E4M3_COLUMNS / 32])
{
    uint32_t state = seed;
    for (int i = 0; i < E4M3_COLUMNS / 32; i++) {
        state = state * 1664525u + 1013904223u; // as Numerical Recipes has it
        uint32_t x = state;
        x = (x ^ x >> 16) * 0x85ebca6bu; // the end of MurmurHash3: all bits depend on all
        x = (x ^ x >> 13) * 0xc2b2ae35u;
        signs[i] = seed == 0 ? 0 : x ^ x >> 16;
    }
}

/** @brief The factor on products of rows that were rotated with @p seed. It is never 0, which would stand for another one. */
static inline float e4m3_score_scale(const struct attention_args *args, unsigned seed)
{
    float scale = attention_scale(args), rotated = scale / E4M3_COLUMNS;
    if (seed == 0) return scale;
    return rotated != 0.0f ? rotated : copysignf(0x1p-149f, scale);
}

/** @brief Where everything is in the workspace, in bytes from its beginning; each begins at a multiple of 256. */
struct e4m3_places {
    size_t q;        /**< [batch * heads, q_len, 128] codes */
    size_t k;        /**< [batch * kv_heads, kv_len, 128] codes */
    size_t v;        /**< [batch * kv_heads, tiles, 128, 128] codes: tiles of 128 keys */
    size_t q_scales; /**< [batch * heads, blocks of 128 queries] floats */
    size_t k_scales; /**< [batch * kv_heads, tiles] floats */
    size_t v_scales; /**< [batch * kv_heads] floats */
    /** [batch * kv_heads, tiles] floats: what the scales of tiles of V would be; the largest is that of the head */
    size_t v_tiles;
    size_t bytes; /**< of all; 0 where the arguments are refused, SIZE_MAX if it does not fit */
};

/** @brief The next place, for @p count things of @p bytes bytes, rounded up to 256; SIZE_MAX stays. */
static inline size_t e4m3_place(size_t *end, uint64_t heads, uint64_t count, uint64_t bytes)
{
    size_t at = *end;
    uint64_t size = heads;
    int fits = multiply_fits(&size, count, INT64_MAX / 16) && multiply_fits(&size, bytes, INT64_MAX / 16);
    *end = fits && at < INT64_MAX / 2 ? at + (size_t)((size + 255) / 256 * 256) : SIZE_MAX;
    return at;
}

/** @brief 0 where hopper_attention_fp8() refuses an extent, head_dim or the storage type. */
static inline int e4m3_fits(const struct attention_args *args)
{
    if (args->batch < 1 || args->heads < 1 || args->kv_heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->heads % args->kv_heads != 0 || args->head_dim != E4M3_COLUMNS)
        return 0;
    uint64_t rows = (uint64_t)args->batch;
    uint64_t longest = (uint64_t)(args->q_len > args->kv_len ? args->q_len : args->kv_len);
    return multiply_fits(&rows, (uint64_t)args->heads, INT_MAX) && multiply_fits(&rows, longest, INT_MAX) &&
           (args->dtype == DTYPE_F16 || args->dtype == DTYPE_BF16);
}

/** @brief The workspace for @p args, which may be NULL or anything else that is refused. */
static inline struct e4m3_places e4m3_workspace(const struct attention_args *args)
{
    struct e4m3_places places = {0, 0, 0, 0, 0, 0, 0, 0};
    if (args == NULL || !e4m3_fits(args)) return places;
    uint64_t heads = (uint64_t)args->batch * (uint64_t)args->heads;
    uint64_t kv_heads = (uint64_t)args->batch * (uint64_t)args->kv_heads;
    uint64_t q_len = (uint64_t)args->q_len, kv_len = (uint64_t)args->kv_len;
    uint64_t blocks = (q_len + E4M3_ROWS - 1) / E4M3_ROWS, tiles = (kv_len + E4M3_ROWS - 1) / E4M3_ROWS;
    places.q = e4m3_place(&places.bytes, heads, q_len, E4M3_COLUMNS);
    places.k = e4m3_place(&places.bytes, kv_heads, kv_len, E4M3_COLUMNS);
    places.v = e4m3_place(&places.bytes, kv_heads, tiles, E4M3_ROWS * E4M3_COLUMNS);
    places.q_scales = e4m3_place(&places.bytes, heads, blocks, sizeof(float));
    places.k_scales = e4m3_place(&places.bytes, kv_heads, tiles, sizeof(float));
    places.v_scales = e4m3_place(&places.bytes, kv_heads, 1, sizeof(float));
    places.v_tiles = e4m3_place(&places.bytes, kv_heads, tiles, sizeof(float));
    return places;
}

#endif

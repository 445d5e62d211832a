/**
 * @file e4m3_rows.h
 * @brief Given, for part "fp8": E4M3 in registers and in tiles, where keys are in a row of V's, scales, and NaN behind a mask.
 *
 * Fragment A of a wgmma of E4M3 holds four columns of k in a register: a[0] row g, a[1] row g + 8 of columns 4q to 4q + 3, a[2]
 * and a[3] the same rows of columns 4q + 16 to 4q + 19. S has of row g columns 2q and 2q + 1 of every eight. Which key is which
 * column of k does not matter as long as P and V agree: the keys are numbered so that a lane finds in its own registers of S
 * what it needs, and V is written in that order.
 */
#ifndef WARPWISE_E4M3_ROWS_H
#define WARPWISE_E4M3_ROWS_H

#include <cuda_fp8.h>

#include "attention_tiles.h"
#include "e4m3_blocks.h"
#include "warp_matrix.h"

/** @brief Threads of a block that rounds 128 rows. */
enum { QUANTISE_THREADS = 256 };

/** @brief A rotation as a kernel's parameter. */
struct rotation {
    int applies;                       /**< 0: rows stay as they are */
    uint32_t signs[E4M3_COLUMNS / 32]; /**< rotation_signs() */
};

/** @brief The rotation of this seed. */
inline struct rotation rotation_of(unsigned seed)
{
    struct rotation rotation;
    rotation.applies = seed != 0;
    rotation_signs(seed, rotation.signs);
    return rotation;
}

/** @brief What is rounded by rows, as a kernel's parameter: Q, K and V, one after another. */
struct rows_to_round {
    const void *x[3];  /**< rows of 128 elements */
    uint8_t *codes[3]; /**< where they go; NULL: only their scales are asked for */
    float *scales[3];  /**< of each block of 128 rows */
    int rows[3];       /**< of a head */
    int ends[2];       /**< the first block of K, and of V */
};

/** @brief The type of products of E4M3 numbers; the two below also say how O is stored. */
struct e4m3 {
};
/** @brief O in f16. */
struct e4m3_to_f16 : e4m3 {
};
/** @brief O in bf16. */
struct e4m3_to_bf16 : e4m3 {
};

/** @brief Two elements of O. */
template <> __device__ inline uint32_t pack_elements<struct e4m3_to_f16>(float low, float high)
{
    return pack_elements<__half>(low, high);
}
/** @overload */
template <> __device__ inline uint32_t pack_elements<struct e4m3_to_bf16>(float low, float high)
{
    return pack_elements<__nv_bfloat16>(low, high);
}
/** @brief Not asked of E4M3, whose tiles e4m3_special_values() looks through. */
template <> __device__ inline int not_finite<struct e4m3_to_f16>(uint32_t)
{
    return 0;
}
/** @overload */
template <> __device__ inline int not_finite<struct e4m3_to_bf16>(uint32_t)
{
    return 0;
}
/** @brief Likewise: e4m3_value(). */
template <> __device__ inline float unpack_element<struct e4m3_to_f16>(uint32_t, int)
{
    return 0.0f;
}
/** @overload */
template <> __device__ inline float unpack_element<struct e4m3_to_bf16>(uint32_t, int)
{
    return 0.0f;
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/** @brief Four floats as E4M3, rounded to nearest, in a register, x[0] lowest. More than 448 becomes 448, NaN stays NaN. */
__device__ inline uint32_t e4m3_word(const float x[4])
{
    uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(x[0], x[1]), __NV_SATFINITE, __NV_E4M3);
    uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(x[2], x[3]), __NV_SATFINITE, __NV_E4M3);
    return low | high << 16;
}

/** @brief Number @p i of the four. */
__device__ inline float e4m3_value(uint32_t word, int i)
{
    __half_raw half = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(word >> 8 * i & 0xff), __NV_E4M3);
    return __half2float(half);
}

/** @brief |x|, but 0 of an infinity and of NaN: they have no part in a scale. */
__device__ inline float finite_size(float x)
{
    return fabsf(x) < INFINITY ? fabsf(x) : 0.0f;
}

/** @brief Four elements of type T at @p from, which is a multiple of 8 bytes. */
template <typename T> __device__ inline void load_four(float x[4], const T *from)
{
    uint2 pairs = *(const uint2 *)from;
    x[0] = unpack_element<T>(pairs.x, 0), x[1] = unpack_element<T>(pairs.x, 1);
    x[2] = unpack_element<T>(pairs.y, 0), x[3] = unpack_element<T>(pairs.y, 1);
}

/** @brief Which key of a tile is at place @p at of the rows of transposed V: of each 16, those of lane q are 4q to 4q + 3. */
__device__ inline int key_at(int at)
{
    return at / 16 * 16 + at % 4 / 2 * 8 + at % 16 / 4 * 2 + at % 2;
}

/** @brief Weights rounded to E4M3, four to a register: fragments A for the product with V. */
template <typename T, int SCORES>
__device__ inline void round_weights(uint32_t (&p)[SCORES / 4], const float (&s)[SCORES])
{
#pragma unroll
    for (int i = 0; i < SCORES / 4; i++) { // p[2i], p[2i + 1]: rows g and g + 8 of 16 keys
        const float *of = &s[i / 2 * 8 + i % 2 * 2];
        float x[4] = {of[0], of[1], of[4], of[5]};
        p[i] = e4m3_word(x);
    }
}

/* ---- rotation ---------------------------------------------------------------------------------------------- */

/**
 * @brief 16 rows times signs and the Hadamard matrix of 128, which is that of 32, on tensor cores, for each of four blocks of 32
 * columns, and then sums and differences of the blocks. Of row g + 8h a lane has columns 8t to 8t + 7 of block b in from[h][b],
 * two to a register, and gets columns 8j + 2t and 8j + 2t + 1 in x[b][j][2h] and x[b][j][2h + 1].
 */
template <typename T>
__device__ inline void rotate(float (&x)[4][4][4], const uint4 (&from)[2][4], const struct rotation &rotation,
                              int applies)
{
    int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    uint32_t ones = pack_elements<T>(1.0f, 1.0f), matrix[4][4]; // [pair of rows][block of 8 columns]
#pragma unroll
    for (int i = 0; i < 16; i++) {
        int row = 8 * t + i / 4 * 2, column = 8 * (i % 4) + g;
        uint32_t low = __popc(row & column) & 1, high = __popc((row + 1) & column) & 1;
        matrix[i / 4][i % 4] = ones ^ (low << 15 | high << 31);
    }
#pragma unroll
    for (int b = 0; b < 4; b++) {
        uint32_t pairs[2][4] = {{from[0][b].x, from[0][b].y, from[0][b].z, from[0][b].w},
                                {from[1][b].x, from[1][b].y, from[1][b].z, from[1][b].w}};
        uint32_t signs = applies ? rotation.signs[b] >> 8 * t : 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            pairs[i / 4][i % 4] ^= (signs >> i % 4 * 2 & 1) << 15 | (signs >> (i % 4 * 2 + 1) & 1) << 31;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (!applies) { // the same for all threads; any order of columns will do
                for (int i = 0; i < 4; i++) x[b][j][i] = unpack_element<T>(pairs[i / 2][j], i % 2);
                continue;
            }
            for (int i = 0; i < 4; i++) x[b][j][i] = 0.0f;
#pragma unroll
            for (int k = 0; k < 4; k += 2) { // the order of rows is that of the columns in the lanes
                uint32_t a[4] = {pairs[0][k], pairs[1][k], pairs[0][k + 1], pairs[1][k + 1]};
                multiply_add<T>(x[b][j], a, matrix[k][j], matrix[k + 1][j]);
            }
        }
    }
    if (!applies) return;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        float *at[4] = {&x[0][i / 4][i % 4], &x[1][i / 4][i % 4], &x[2][i / 4][i % 4], &x[3][i / 4][i % 4]};
        float a = *at[0] + *at[1], b = *at[0] - *at[1], c = *at[2] + *at[3], d = *at[2] - *at[3];
        *at[0] = a + c, *at[1] = b + d, *at[2] = a - c, *at[3] = b - d;
    }
}

/* ---- scales ------------------------------------------------------------------------------------------------ */

/** @brief Where the scales are in the workspace; for other parts there are none. */
template <typename SIZE> inline void find_scales(struct attention *p)
{
    if (SIZE::ELEMENT_BYTES != 1) return;
    struct e4m3_places places = e4m3_workspace(&p->args);
    char *workspace = (char *)p->args.workspace;
    p->q_scales = (const float *)(workspace + places.q_scales);
    p->k_scales = (const float *)(workspace + places.k_scales);
    p->v_scales = (const float *)(workspace + places.v_scales);
}

/** @brief a * b * c, all positive, without a step that is larger or smaller than all of the three and the result. */
__device__ inline float product_of_three(float a, float b, float c)
{
    float least = fminf(a, b), largest = fmaxf(a, b), middle = fmaxf(least, fminf(largest, c));
    return fminf(least, c) * fmaxf(largest, c) * middle;
}

/**
 * @brief The size of p.scale times the scales of this tile of queries and of tile @p i of keys. Loaded before the products: the load
 *        takes a while.
 */
template <typename SIZE>
__device__ inline float tile_scales(const struct attention &p, struct query_tile tile, int i)
{
    return SIZE::ELEMENT_BYTES == 1 ? product_of_three(fabsf(p.scale), tile.q_scale, tile.k_scales[i])
                                    : fabsf(p.scale);
}

/** @brief The factor on products, without its sign; @p scales is tile_scales(). Of E4M3 never 0, for a masked product is -infinity. */
template <typename SIZE> __device__ inline float score_scale(float scales)
{
    return SIZE::ELEMENT_BYTES == 1 ? fmaxf(scales, 0x1p-126f) : scales;
}

/** @brief The factor on sums of O. */
template <typename SIZE>
__device__ inline float value_scale(const struct attention &p, struct query_tile tile)
{
    return SIZE::ELEMENT_BYTES == 1 ? p.v_scales[tile.kv_bh] : 1.0f;
}

/* ---- a NaN in V behind the mask ---------------------------------------------------------------------------- */

/** @brief As special_values(), in a transposed tile: a row is a column of V, and keys @p first to @p end - 1 lie along it. */
__device__ inline int e4m3_special_values(const char *v, int first, int end)
{
    int column = (int)threadIdx.x % WARPGROUP, special = 0;
    for (int word = 0; word < E4M3_ROWS / 4; word++) {
        uint32_t x = *(const uint32_t *)(v + swizzled(column, 4 * word));
        for (int i = 0; i < 4; i++) {
            int key = key_at(4 * word + i);
            if (key >= first && key < end) special |= (x >> 8 * i & 0x7f) == 0x7f;
        }
    }
    return special;
}

/** @brief As add_one_by_one(). */
template <typename SIZE>
__device__ inline void e4m3_add_one_by_one(float (&o)[SIZE::SUMS], const uint32_t (&p)[SIZE::WEIGHTS],
                                           const char *v, const int seen[2])
{
    int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < SIZE::WEIGHTS / 2; half++) // 16 keys
#pragma unroll 1
        for (int i = 0; i < 16; i++) {
            int at = half * 16 + i, key = key_at(at);
            float weight[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                uint32_t word = __shfl_sync(ALL_LANES, p[2 * half + h], lane / 4 * 4 + i / 4);
                weight[h] = e4m3_value(word, i % 4);
            }
#pragma unroll
            for (int c = 0; c < SIZE::SUMS; c++) {
                int column = c / 4 * 8 + lane % 4 * 2 + c % 2;
                float x = e4m3_value(*(const uint32_t *)(v + swizzled(column, at / 4 * 4)), at % 4);
                if (key < seen[c / 2 % 2]) o[c] += weight[c / 2 % 2] * x;
            }
        }
}

#endif

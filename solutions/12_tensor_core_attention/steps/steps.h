/**
 * @file steps.h
 * @brief The steps to attention on tensor cores, one kernel per file: f16, not causal, head_dim 64 or 128, lengths that are
 *        multiples of 64.
 *
 * They are what the page's chart shows; ladder.cu checks and times them beside the solution, which is the next step: 32 rows
 * per warp, fewer corrections, any length, a mask. What the steps have in common is here.
 */
#ifndef WARPWISE_ATTENTION_STEPS_H
#define WARPWISE_ATTENTION_STEPS_H

#include <cuda_runtime.h>

#include "warp_matrix.h"

/** @brief O = softmax(Q K^T / sqrt(head_dim)) V; device memory, [heads, length, head_dim] each. */
struct problem {
    int heads;       /**< of all sequences */
    int length;      /**< queries and keys, a multiple of STEP_ROWS */
    int head_dim;    /**< 64 or 128 */
    const __half *q; /**< queries */
    const __half *k; /**< keys */
    const __half *v; /**< values */
    __half *o;       /**< output */
};

/** @name Launchers. They only launch; cudaGetLastError() says whether that went well. */
/** @{ */
void step_basic(struct problem x);     /**< plain copies, plain loads from shared memory */
void step_swizzle(struct problem x);   /**< no bank conflicts in the loads of K */
void step_cp_async(struct problem x);  /**< copies that pass through no register */
void step_ldmatrix(struct problem x);  /**< four fragments in one instruction */
void step_pipelined(struct problem x); /**< the next tile on its way under this one's products */
/** @} */

/** @brief 64 queries per block, 16 per warp; 64 keys per tile. */
enum { STEP_LANES = 32, STEP_THREADS = 128, STEP_ROWS = 64, STEP_KEYS = 64 };

/** @brief What a lane knows of its rows g and g + 8. */
template <int HEAD_DIM> struct lane_rows {
    uint32_t q[HEAD_DIM / 16][4]; /**< fragments A */
    float m[2];                   /**< largest score so far, times log2(e) */
    float l[2];                   /**< sum of exp2(score - m), this lane's keys */
    float o[HEAD_DIM / 8][4];     /**< sum of exp2(score - m) * V */
};

/** @brief First query of this warp, in all heads; K and V of its head begin at row kv_row(). */
__device__ inline size_t first_query(void)
{
    return (size_t)blockIdx.x * STEP_ROWS + threadIdx.x / STEP_LANES * 16;
}
/** @brief First row of this block's head. */
__device__ inline size_t kv_row(const struct problem &x)
{
    return (size_t)(blockIdx.x / (x.length / STEP_ROWS)) * x.length;
}

/** @brief Element of a tile, 16-byte columns swizzled or not. */
template <int HEAD_DIM, int SWIZZLED> __device__ inline int place(int row, int column)
{
    return row * HEAD_DIM + (SWIZZLED ? (column / 8 ^ row % 8) * 8 + column % 8 : column);
}

/** @brief Q into registers; nothing seen yet. */
template <int HEAD_DIM>
__device__ inline void begin_rows(struct lane_rows<HEAD_DIM> *rows, const struct problem &x)
{
    int lane = (int)threadIdx.x % STEP_LANES;
    const __half *q = x.q + (first_query() + lane / 4) * HEAD_DIM + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 4; i++)
        rows->q[i / 4][i % 4] = *(const uint32_t *)(q + i / 4 * 16 + i % 4 / 2 * 8 + i % 2 * 8 * HEAD_DIM);
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 2; i++) rows->o[i / 4][i % 4] = 0.0f;
    rows->m[0] = rows->m[1] = -INFINITY;
    rows->l[0] = rows->l[1] = 0.0f;
}

/** @brief A tile of 64 keys by way of registers. */
template <int HEAD_DIM, int SWIZZLED> __device__ inline void copy_tile(__half *tile, const __half *from)
{
#pragma unroll
    for (int at = (int)threadIdx.x * 8; at < STEP_KEYS * HEAD_DIM; at += STEP_THREADS * 8)
        *(uint4 *)&tile[place<HEAD_DIM, SWIZZLED>(at / HEAD_DIM, at % HEAD_DIM)] =
            *(const uint4 *)(from + at);
}

/** @brief The same by cp.async. */
template <int HEAD_DIM> __device__ inline void start_tile(__half *tile, const __half *from)
{
#pragma unroll
    for (int at = (int)threadIdx.x * 8; at < STEP_KEYS * HEAD_DIM; at += STEP_THREADS * 8)
        copy_16_bytes(&tile[place<HEAD_DIM, 1>(at / HEAD_DIM, at % HEAD_DIM)], from + at, 1);
}

/** @brief S = Q K^T; each lane loads its pairs of K. */
template <int HEAD_DIM, int SWIZZLED>
__device__ inline void score_by_pairs(float s[STEP_KEYS / 8][4], const struct lane_rows<HEAD_DIM> &rows,
                                      const __half *k)
{
    int g = (int)threadIdx.x % STEP_LANES / 4, t = (int)threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < STEP_KEYS / 8; j++) {
        s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0.0f;
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16)
            multiply_add<__half>(s[j], rows.q[d / 16],
                                 *(const uint32_t *)&k[place<HEAD_DIM, SWIZZLED>(j * 8 + g, d + t)],
                                 *(const uint32_t *)&k[place<HEAD_DIM, SWIZZLED>(j * 8 + g, d + t + 8)]);
    }
}

/** @brief The same by ldmatrix.x4, two fragments of K each. */
template <int HEAD_DIM>
__device__ inline void score_by_matrices(float s[STEP_KEYS / 8][4], const struct lane_rows<HEAD_DIM> &rows,
                                         const __half *k)
{
    int lane = (int)threadIdx.x % STEP_LANES;
#pragma unroll
    for (int j = 0; j < STEP_KEYS / 8; j++) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0.0f;
#pragma unroll
    for (int d = 0; d < HEAD_DIM; d += 16)
#pragma unroll
        for (int j = 0; j < STEP_KEYS / 8; j += 2) {
            uint32_t b[4];
            int key = j * 8 + lane / 16 * 8 + lane % 8;
            load_matrices(b, shared_address(&k[place<HEAD_DIM, 1>(key, d + lane / 8 % 2 * 8)]));
            multiply_add<__half>(s[j], rows.q[d / 16], b[0], b[1]);
            multiply_add<__half>(s[j + 1], rows.q[d / 16], b[2], b[3]);
        }
}

/** @brief Scores become weights; l and O are corrected to the new maximum, in every tile. */
template <int HEAD_DIM>
__device__ inline void weigh(float s[STEP_KEYS / 8][4], struct lane_rows<HEAD_DIM> *rows)
{
    float scale = rsqrtf((float)HEAD_DIM) * 1.44269504f;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float m = rows->m[h];
#pragma unroll
        for (int j = 0; j < STEP_KEYS / 8; j++) m = fmaxf(m, scale * fmaxf(s[j][2 * h], s[j][2 * h + 1]));
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
        float correction = exp2_fast(rows->m[h] - m);
        rows->m[h] = m;
        rows->l[h] *= correction;
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; n++)
            rows->o[n][2 * h] *= correction, rows->o[n][2 * h + 1] *= correction;
#pragma unroll
        for (int j = 0; j < STEP_KEYS / 4; j++) {
            float *weight = &s[j / 2][2 * h + j % 2];
            *weight = exp2_fast(fmaf(*weight, scale, -m));
            rows->l[h] += *weight;
        }
    }
}

/** @brief A fragment A of P: two fragments C are that. */
__device__ inline void pack_weights(uint32_t a[4], const float s[2][4])
{
#pragma unroll
    for (int x = 0; x < 4; x++) a[x] = pack_elements<__half>(s[x / 2][x % 2 * 2], s[x / 2][x % 2 * 2 + 1]);
}

/** @brief O += P V; each lane loads its elements of V, one by one. */
template <int HEAD_DIM, int SWIZZLED>
__device__ inline void add_by_elements(struct lane_rows<HEAD_DIM> *rows, const float s[STEP_KEYS / 8][4],
                                       const __half *tile)
{
    const uint16_t *v = (const uint16_t *)tile;
    int g = (int)threadIdx.x % STEP_LANES / 4, t = (int)threadIdx.x % 4 * 2;
#pragma unroll
    for (int key = 0; key < STEP_KEYS; key += 16) {
        uint32_t a[4];
        pack_weights(a, &s[key / 8]);
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; n++) {
            uint32_t b[2];
#pragma unroll
            for (int x = 0; x < 2; x++)
                b[x] = v[place<HEAD_DIM, SWIZZLED>(key + x * 8 + t, n * 8 + g)] |
                       (uint32_t)v[place<HEAD_DIM, SWIZZLED>(key + x * 8 + t + 1, n * 8 + g)] << 16;
            multiply_add<__half>(rows->o[n], a, b[0], b[1]);
        }
    }
}

/** @brief The same by ldmatrix.x4.trans, two fragments of V each. */
template <int HEAD_DIM>
__device__ inline void add_by_matrices(struct lane_rows<HEAD_DIM> *rows, const float s[STEP_KEYS / 8][4],
                                       const __half *v)
{
    int lane = (int)threadIdx.x % STEP_LANES;
#pragma unroll
    for (int key = 0; key < STEP_KEYS; key += 16) {
        uint32_t a[4];
        pack_weights(a, &s[key / 8]);
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; n += 2) {
            uint32_t b[4];
            load_matrices_transposed(
                b, shared_address(&v[place<HEAD_DIM, 1>(key + lane % 16, n * 8 + lane / 16 * 8)]));
            multiply_add<__half>(rows->o[n], a, b[0], b[1]);
            multiply_add<__half>(rows->o[n + 1], a, b[2], b[3]);
        }
    }
}

/** @brief Divides O by l and stores it, 4 bytes at a time. */
template <int HEAD_DIM>
__device__ inline void end_rows(const struct lane_rows<HEAD_DIM> &rows, const struct problem &x)
{
    int lane = (int)threadIdx.x % STEP_LANES;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float l = rows.l[h] + __shfl_xor_sync(0xffffffffu, rows.l[h], 1);
        l += __shfl_xor_sync(0xffffffffu, l, 2);
        __half *to = x.o + (first_query() + lane / 4 + h * 8) * HEAD_DIM + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; n++)
            *(uint32_t *)(to + n * 8) = pack_elements<__half>(rows.o[n][2 * h] / l, rows.o[n][2 * h + 1] / l);
    }
}

/** @brief Blocks of a problem. */
static inline unsigned blocks_of(struct problem x)
{
    return (unsigned)(x.heads * (x.length / STEP_ROWS));
}

#endif

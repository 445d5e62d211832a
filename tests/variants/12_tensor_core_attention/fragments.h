/**
 * @file fragments.h
 * @brief Variants without shared memory: a warp has 16 query rows, and each lane loads its part of every fragment itself.
 */
#pragma once

#include "entry.h"
#include "warp_matrix.h"

enum { KEYS = 16, WARP_LANES = 32 };

/** What a warp works on, and what a lane knows of its rows g and g + 8. */
template <typename T, int HEAD_DIM> struct warp_rows {
    const T *q, *k, *v;    // of the head
    int bh, first;         // head, first query
    int seen[2], all, any; // keys that rows g and g + 8 see; that all rows see, and any
    float scale;
    float m[2], l[2], o[HEAD_DIM / 8][4];
};

template <typename T, int HEAD_DIM>
__device__ inline void begin(struct warp_rows<T, HEAD_DIM> *w, const struct attention_args &args, float scale,
                             int index)
{
    int tiles = divide_up(args.q_len, 16), lane = (int)threadIdx.x % WARP_LANES;
    w->bh = index / tiles;
    w->first = index % tiles * 16;
    w->q = (const T *)args.q + (size_t)w->bh * args.q_len * HEAD_DIM;
    w->k = (const T *)args.k + kv_head(args, w->bh) * args.kv_len * HEAD_DIM;
    w->v = (const T *)args.v + kv_head(args, w->bh) * args.kv_len * HEAD_DIM;
    w->scale = scale;
    for (int h = 0; h < 2; h++) {
        w->seen[h] = keys_seen(args, min(w->first + lane / 4 + h * 8, args.q_len - 1));
        w->m[h] = -INFINITY;
        w->l[h] = 0.0f;
    }
    w->all = keys_seen(args, w->first);
    w->any = keys_seen(args, min(w->first + 15, args.q_len - 1));
    for (int n = 0; n < HEAD_DIM / 8; n++)
        for (int c = 0; c < 4; c++) w->o[n][c] = 0.0f;
}

/** Elements @p column and the next of row @p row, or zeros from row @p rows on. */
template <typename T, int HEAD_DIM>
__device__ inline uint32_t pair_of(const T *from, int row, int rows, int column)
{
    return row < rows ? *(const uint32_t *)(from + (size_t)row * HEAD_DIM + column) : 0;
}

/** Scores, times log2(e), of 16 keys from @p first on; -infinity where they are not seen. */
template <typename T, int HEAD_DIM>
__device__ inline void score(const struct warp_rows<T, HEAD_DIM> &w, const struct attention_args &args,
                             int first, float s[2][4])
{
    int lane = (int)threadIdx.x % WARP_LANES, g = lane / 4, t = lane % 4 * 2;
    for (int j = 0; j < 2; j++) {
        for (int c = 0; c < 4; c++) s[j][c] = 0.0f;
        for (int d = 0; d < HEAD_DIM; d += 16) {
            uint32_t a[4], b[2];
            for (int x = 0; x < 4; x++)
                a[x] = pair_of<T, HEAD_DIM>(w.q, w.first + g + x % 2 * 8, args.q_len, d + t + x / 2 * 8);
            for (int x = 0; x < 2; x++)
                b[x] = pair_of<T, HEAD_DIM>(w.k, first + j * 8 + g, args.kv_len, d + t + x * 8);
            multiply_add<T>(s[j], a, b[0], b[1]);
        }
        for (int c = 0; c < 4; c++) {
            s[j][c] = __fmul_rn(__fmul_rn(s[j][c], w.scale),
                                1.44269504f); // the scale times log2(e) may be beyond float
            if (first + j * 8 + t + c % 2 >= w.seen[c / 2]) s[j][c] = -INFINITY;
        }
    }
}

/** The largest score of row g (0) or g + 8 (1). */
__device__ inline float largest(const float s[2][4], int h)
{
    float m = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]), fmaxf(s[1][2 * h], s[1][2 * h + 1]));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    return fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
}

/** l and O refer to m from now on. */
template <typename T, int HEAD_DIM>
__device__ inline void refer_to(struct warp_rows<T, HEAD_DIM> *w, int h, float m)
{
    float correction = exp2f(w->m[h] - shift_of(m));
    w->m[h] = m;
    w->l[h] *= correction;
    for (int n = 0; n < HEAD_DIM / 8; n++)
        for (int c = 2 * h; c < 2 * h + 2; c++) w->o[n][c] *= correction;
}

/** Adds the weights of 16 keys to l, and their values, times the weights, to O. */
template <typename T, int HEAD_DIM>
__device__ inline void add(struct warp_rows<T, HEAD_DIM> *w, int first, float s[2][4])
{
    int lane = (int)threadIdx.x % WARP_LANES, g = lane / 4, t = lane % 4 * 2;
    uint32_t a[4];
    for (int x = 0; x < 4; x++) {
        float *pair = &s[x / 2][x % 2 * 2], shift = shift_of(w->m[x % 2]);
        for (int c = 0; c < 2; c++) w->l[x % 2] += pair[c] = exp2f(pair[c] - shift);
        a[x] = pack_elements<T>(pair[0], pair[1]);
    }
    const uint16_t *v = (const uint16_t *)w->v;
    for (int n = 0; n < HEAD_DIM / 8; n++) {
        if (first + KEYS <= w->all) {
            uint32_t b[2];
            for (int x = 0; x < 2; x++) {
                size_t at = (size_t)(first + x * 8 + t) * HEAD_DIM + n * 8 + g;
                b[x] = v[at] | (uint32_t)v[at + HEAD_DIM] << 16;
            }
            multiply_add<T>(w->o[n], a, b[0], b[1]);
            continue;
        }
        for (int key = 0; key < KEYS; key++) /* one by one: 0 * NaN is NaN */
            for (int c = 0; c < 4; c++) {
                uint32_t weights = __shfl_sync(0xffffffffu, a[key / 8 * 2 + c / 2], g * 4 + key % 8 / 2);
                if (first + key >= w->seen[c / 2]) continue;
                float value = as_float(w->v[(size_t)(first + key) * HEAD_DIM + n * 8 + t + c % 2]);
                w->o[n][c] += unpack_element<T>(weights, key % 2) * value;
            }
    }
}

/** Output and logsumexp of the warp's rows. */
template <typename T, int HEAD_DIM>
__device__ inline void finish(struct warp_rows<T, HEAD_DIM> *w, const struct attention_args &args)
{
    int lane = (int)threadIdx.x % WARP_LANES, t = lane % 4 * 2;
    for (int h = 0; h < 2; h++) {
        float l = w->l[h] + __shfl_xor_sync(0xffffffffu, w->l[h], 1);
        l += __shfl_xor_sync(0xffffffffu, l, 2);
        int query = w->first + lane / 4 + h * 8;
        if (query >= args.q_len) continue;
        size_t row = (size_t)w->bh * args.q_len + query;
        for (int n = 0; n < HEAD_DIM / 8; n++)
            for (int c = 0; c < 2; c++)
                store((T *)args.out + row * HEAD_DIM + n * 8 + t + c, w->o[n][2 * h + c] * factor_of(l));
        if (args.lse != NULL && t == 0) args.lse[row] = w->m[h] * 0.69314718f + logf(l);
    }
}

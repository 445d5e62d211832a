/*
 * A correct solution of another shape: one warp has a row. Lanes hold columns lane, lane + 32, ...; a key is taken at a time,
 * its score is summed over the warp by a butterfly, and the output is rescaled whenever the maximum grows, in base 2.
 */
#include "row.h"

enum { THREADS = 32, COLUMNS = DECODE_MOST_HEAD_DIM / THREADS };

template <typename T> __global__ void row_kernel(struct decode_args args, float scale)
{
    const struct row_of<T> r(args, (int)blockIdx.y);
    size_t stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    T *out = r.out;
    if (keys == 0) return; // the whole block
    int lane = (int)threadIdx.x;
    float most = -INFINITY, l = 0.0f, sum[COLUMNS] = {0.0f};
    for (int t = 0; t < keys; t++) {
        float dot = 0.0f;
        for (int d = lane; d < head_dim; d += THREADS) dot += to_float(q[d]) * to_float(k[t * stride + d]);
        for (int distance = THREADS / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        float score = scale * dot * 1.44269504f, old = most; // log2(e)
        most = fmaxf(most, score);
        float shift = shift_of(most), correction = exp2f(old - shift), weight = exp2f(score - shift);
        l = l * correction + weight;
        for (int i = 0; i < COLUMNS; i++) {
            int d = lane + i * THREADS;
            if (d < head_dim) sum[i] = sum[i] * correction + weight * to_float(v[t * stride + d]);
        }
    }
    for (int i = 0; i < COLUMNS; i++)
        if (lane + i * THREADS < head_dim) from_float(&out[lane + i * THREADS], sum[i] * factor_of(l));
}

#include "one_kernel.h"

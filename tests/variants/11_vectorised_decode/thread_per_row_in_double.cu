/*
 * A correct solution of another shape: one thread computes a whole row, in double, and scores twice: once for the maximum,
 * once for the weights. No shared memory, no workspace, one element at a time; all variants are this kernel.
 */
#include "row.h"

enum { THREADS = 1 };

template <typename T> __device__ inline double score_of(const T *q, const T *k, int head_dim, double scale)
{
    double dot = 0.0;
    for (int d = 0; d < head_dim; d++) dot += (double)to_float(q[d]) * (double)to_float(k[d]);
    return scale * dot;
}

template <typename T> __global__ void row_kernel(struct decode_args args, float scale)
{
    const struct row_of<T> r(args, (int)blockIdx.y);
    size_t stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    T *out = r.out;
    if (keys == 0) return; // the whole block
    double most = -INFINITY, l = 0.0, sum[DECODE_MOST_HEAD_DIM] = {0.0};
    for (int t = 0; t < keys; t++) most = fmax(most, score_of(q, k + t * stride, head_dim, scale));
    if (most == -INFINITY) most = 0.0;
    for (int t = 0; t < keys; t++) {
        double weight = exp(score_of(q, k + t * stride, head_dim, scale) - most);
        l += weight;
        for (int d = 0; d < head_dim; d++) sum[d] += weight * (double)to_float(v[t * stride + d]);
    }
    for (int d = 0; d < head_dim; d++) from_float(&out[d], l == 0.0 ? (float)sum[d] : (float)(sum[d] / l));
}

#include "one_kernel.h"

/*
 * A correct solution of another shape: a block of 64 threads has a row. Each thread goes over its own keys, with its own
 * maximum and its own sums in shared memory, and at the end all are merged in a tree: no maximum is shared before.
 */
#include "row.h"

enum { THREADS = 64, PIECE = 64 };

template <typename T> __global__ void row_kernel(struct decode_args args, float scale)
{
    __shared__ struct softmax_pair pair[THREADS];
    __shared__ float sum[THREADS][PIECE + 1]; // a column more: threads write down a column each
    const struct row_of<T> r(args, (int)blockIdx.y);
    size_t stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    T *out = r.out;
    if (keys == 0) return; // the whole block
    int thread = (int)threadIdx.x;
    for (int first = 0; first < head_dim; first += PIECE) { // so many columns at a time
        int columns = min(head_dim - first, (int)PIECE);
        struct softmax_pair mine = {-INFINITY, 0.0f};
        for (int d = 0; d < columns; d++) sum[thread][d] = 0.0f;
        for (int t = thread; t < keys; t += THREADS) {
            float dot = 0.0f;
            for (int d = 0; d < head_dim; d++) dot += to_float(q[d]) * to_float(k[t * stride + d]);
            struct softmax_pair one = {scale * dot, 1.0f}, old = mine;
            if (one.m == -INFINITY) one.l = 0.0f;
            mine = merge_pairs(old, one);
            float shift = shift_of(mine.m), of_old = expf(old.m - shift), weight = expf(one.m - shift);
            if (isnan(one.m)) mine.l = weight = one.m;
            for (int d = 0; d < columns; d++)
                sum[thread][d] = sum[thread][d] * of_old + weight * to_float(v[t * stride + first + d]);
        }
        pair[thread] = mine;
        for (int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads(); // what is merged now has been written, and read
            if (thread >= half) continue;
            struct softmax_pair a = pair[thread], b_pair = pair[thread + half];
            pair[thread] = merge_pairs(a, b_pair);
            float shift = shift_of(pair[thread].m), of_a = expf(a.m - shift), of_b = expf(b_pair.m - shift);
            for (int d = 0; d < columns; d++)
                sum[thread][d] = sum[thread][d] * of_a + sum[thread + half][d] * of_b;
        }
        __syncthreads(); // the first thread has merged the last two
        for (int d = thread; d < columns; d += THREADS)
            from_float(&out[first + d], sum[0][d] * factor_of(pair[0].l));
        __syncthreads(); // all columns are written before the next piece begins
    }
}

#include "one_kernel.h"

/*
 * A correct solution of another shape: tiles of 24 keys and values are copied to shared memory by the whole block, so that
 * device memory is read in order; scores are then computed by a thread per key, from shared memory.
 */
#include "row.h"

enum { THREADS = 96, TILE = 24, PITCH = DECODE_MOST_HEAD_DIM + 1, COLUMNS = 3 };

template <typename T> __global__ void row_kernel(struct decode_args args, float scale)
{
    __shared__ float tile[TILE][PITCH], scores[TILE], most, correction, shift;
    const struct row_of<T> r(args, (int)blockIdx.y);
    size_t stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    T *out = r.out;
    if (keys == 0) return; // the whole block
    int thread = (int)threadIdx.x;
    float l = 0.0f, sum[COLUMNS] = {0.0f};
    if (thread == 0) most = -INFINITY;
    for (int first = 0; first < keys; first += TILE) {
        int count = min(keys - first, (int)TILE);
        for (int i = thread; i < count * head_dim; i += THREADS)
            tile[i / head_dim][i % head_dim] = to_float(k[(first + i / head_dim) * stride + i % head_dim]);
        __syncthreads(); // the keys are there
        for (int t = thread; t < count; t += THREADS) {
            float dot = 0.0f;
            for (int d = 0; d < head_dim; d++) dot += to_float(q[d]) * tile[t][d];
            scores[t] = scale * dot;
        }
        __syncthreads(); // so are the scores, and the keys are no longer needed
        if (thread == 0) {
            float old = most;
            for (int t = 0; t < count; t++) most = fmaxf(most, scores[t]);
            shift = shift_of(most);
            correction = expf(old - shift);
        }
        for (int i = thread; i < count * head_dim; i += THREADS)
            tile[i / head_dim][i % head_dim] = to_float(v[(first + i / head_dim) * stride + i % head_dim]);
        __syncthreads(); // values, maximum and correction are there
        l *= correction;
        for (int i = 0; i < COLUMNS; i++) sum[i] *= correction;
        for (int t = 0; t < count; t++) {
            float weight = expf(scores[t] - shift);
            l += weight;
            for (int i = 0; i < COLUMNS; i++)
                if (thread + i * THREADS < head_dim) sum[i] += weight * tile[t][thread + i * THREADS];
        }
        __syncthreads(); // all values are added before the next keys come
    }
    for (int i = 0; i < COLUMNS; i++)
        if (thread + i * THREADS < head_dim) from_float(&out[thread + i * THREADS], sum[i] * factor_of(l));
}

#include "one_kernel.h"

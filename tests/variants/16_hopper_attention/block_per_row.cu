/** A block has one query row: its threads share the keys, find the maximum first, and then share the columns. */
#include "entry.h"

#define FP8_ROUNDS_P
#include "rounded.h"

enum { ROW_THREADS = 64, PIECE = 512 /* keys whose weights are kept at a time */ };

template <typename T, int HEAD_DIM> __device__ inline float score(const T *q, const T *key, float scale)
{
    float s = 0.0f;
    for (int d = 0; d < HEAD_DIM; d++) s = fmaf(as_float(q[d]), as_float(key[d]), s);
    return __fmul_rn(s, scale); // the same in both passes
}

/** The largest, or the sum, of a value of all threads. */
__device__ inline float together(float *words, float value, int largest)
{
    __syncthreads(); // nobody reads what the last call left
    words[threadIdx.x] = value;
    __syncthreads();
    float all = words[0];
    for (int i = 1; i < ROW_THREADS; i++) all = largest ? fmaxf(all, words[i]) : all + words[i];
    return all;
}

template <typename T, int HEAD_DIM> __global__ void attention_kernel(struct attention_args args, float scale)
{
    __shared__ float words[ROW_THREADS], weights[PIECE];
    int row = (int)blockIdx.x, bh = row / args.q_len, seen = keys_seen(args, row % args.q_len);
    const T *q = (const T *)args.q + (size_t)row * HEAD_DIM;
    const T *k = (const T *)args.k + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    const T *v = (const T *)args.v + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    float m = -INFINITY, l = 0.0f, o[HEAD_DIM / ROW_THREADS] = {};
    for (int key = (int)threadIdx.x; key < seen; key += ROW_THREADS)
        m = fmaxf(m, score<T, HEAD_DIM>(q, k + (size_t)key * HEAD_DIM, scale));
    m = together(words, m, 1);
    for (int first = 0; first < seen; first += PIECE) {
        int end = min(seen - first, (int)PIECE);
        for (int i = (int)threadIdx.x; i < end; i += ROW_THREADS) {
            weights[i] = expf(score<T, HEAD_DIM>(q, k + (size_t)(first + i) * HEAD_DIM, scale) - shift_of(m));
            l += weights[i];
        }
        __syncthreads(); // the weights are there
        for (int i = 0; i < end; i++)
            for (int c = 0; c < HEAD_DIM / ROW_THREADS; c++)
                o[c] =
                    fmaf(weights[i],
                         as_float(v[(size_t)(first + i) * HEAD_DIM + c * ROW_THREADS + threadIdx.x]), o[c]);
        __syncthreads(); // and may be overwritten
    }
    l = together(words, l, 0);
    for (int c = 0; c < HEAD_DIM / ROW_THREADS; c++)
        store((T *)args.out + (size_t)row * HEAD_DIM + c * ROW_THREADS + threadIdx.x, o[c] * factor_of(l));
    if (args.lse != NULL && threadIdx.x == 0) args.lse[row] = m + logf(l);
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    int rows = args->batch * args->heads * args->q_len;
    attention_kernel<T, HEAD_DIM><<<(unsigned)rows, ROW_THREADS, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}

/*
 * A correct solution of another shape: tiles of 7 keys, a maximum that is rounded up to a whole number and only moved
 * when it must be, blocks of 96 threads, three blocks that walk over all rows, and a sum that is kept divided.
 */
// covered-by: tiles_in_shared
#include "online_softmax.h"

enum { HEAD_DIM_MAX = 256 };

/** How many keys query row @p row of all rows sees. */
__device__ inline int keys_seen(const struct attention_args &args, size_t row)
{
    return args.causal ? max(args.kv_len - args.q_len + 1 + (int)(row % args.q_len), 0) : args.kv_len;
}

/** Offset of the K or V matrix that query row @p row reads. */
__device__ inline size_t kv_offset(const struct attention_args &args, size_t row)
{
    return row / args.q_len / (args.heads / args.kv_heads) * args.kv_len * args.head_dim;
}

inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum { BLOCKS = 3, THREADS = 96, KEYS = 7 };

/** Everything refers to a whole number that is no less than the maximum; exp underflows no sooner for it. */
__device__ inline float reference_of(float m)
{
    return m == -INFINITY || m == INFINITY ? (m == INFINITY ? m : 0.0f) : ceilf(m);
}

__global__ void merge_kernel(const struct softmax_pair *a, const struct softmax_pair *b,
                             struct softmax_pair *out,
                             int count) // [count] each
{
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < count; i += (int)(gridDim.x * THREADS)) {
        struct softmax_pair high = a[i].m < b[i].m ? b[i] : a[i], low = a[i].m < b[i].m ? a[i] : b[i];
        float shift = high.m == -INFINITY ? 0.0f : high.m;
        out[i].m = high.m;
        out[i].l = fmaf(low.l, expf(low.m - shift), high.l * expf(high.m - shift));
    }
}

/** All threads read all of the block's 96 values, in order. */
__device__ inline float block_reduce(float value, int largest)
{
    __shared__ float left[THREADS];
    left[threadIdx.x] = value;
    __syncthreads(); // all values are there
    float all = largest ? -INFINITY : 0.0f;
    for (int i = 0; i < THREADS; i++) all = largest ? fmaxf(all, left[i]) : all + left[i];
    __syncthreads(); // everybody has read them before they are overwritten
    return all;
}

__global__ void rows_kernel(const float *in, // [rows, cols]
                            float *out,      // [rows, cols]
                            float *lse,      // [rows] or NULL
                            int rows, int cols)
{
    for (size_t row = blockIdx.x; row < (size_t)rows; row += gridDim.x) {
        const float *x = in + row * cols; // [cols]
        float m = -INFINITY, l = 0.0f;
        for (int i = (int)threadIdx.x; i < cols; i += THREADS) {
            float larger = fmaxf(m, x[i]);
            if (reference_of(larger) > reference_of(m) || m == -INFINITY)
                l *= expf(m - reference_of(larger)) == 0.0f && m == -INFINITY
                         ? 0.0f
                         : expf(reference_of(m) - reference_of(larger));
            l += expf(x[i] - reference_of(larger));
            m = larger;
        }
        float all = block_reduce(m, 1);
        float sum = block_reduce(
            m == -INFINITY && !isnan(l) ? 0.0f : l * expf(reference_of(m) - reference_of(all)), 0);
        for (int i = (int)threadIdx.x; i < cols; i += THREADS)
            out[row * cols + i] = sum == 0.0f ? 0.0f : expf(x[i] - reference_of(all)) / sum;
        if (lse != NULL && threadIdx.x == 0)
            lse[row] = all == -INFINITY && !isnan(sum) ? -INFINITY : reference_of(all) + logf(sum);
    }
}

/** Tiles of 7 keys, whose scores the first 7 threads compute; then a thread has columns. */
__global__ void attention_kernel(struct attention_args args, float scale, int rows)
{
    __shared__ float score[KEYS];
    for (size_t row = blockIdx.x; row < (size_t)rows; row += gridDim.x) {
        int head_dim = args.head_dim, seen = keys_seen(args, row), thread = (int)threadIdx.x;
        const float *q = (const float *)args.q + row * head_dim; // [head_dim]
        const float *k = (const float *)args.k + kv_offset(args, row),
                    *v = (const float *)args.v + kv_offset(args, row);
        float m = -INFINITY, l = 0.0f, mean[HEAD_DIM_MAX / THREADS + 1] = {};
        for (int first = 0; first < seen; first += KEYS) {
            if (thread < KEYS && first + thread < seen) {
                float dot = 0.0f;
                for (int d = 0; d < head_dim; d++) dot += q[d] * k[(size_t)(first + thread) * head_dim + d];
                score[thread] = dot * scale;
            }
            __syncthreads(); // the tile's scores are there
            for (int key = first; key < seen && key < first + KEYS; key++) {
                float s = score[key - first], larger = fmaxf(m, s),
                      shift = larger == -INFINITY ? 0.0f : larger;
                float before = l * expf(m - shift), weight = expf(s - shift);
                l = before + weight;
                for (int i = 0; i * THREADS + thread < head_dim; i++) {
                    float value = v[(size_t)key * head_dim + i * THREADS + thread];
                    mean[i] = l == 0.0f ? mean[i] + value * weight // 0, or NaN
                                        : mean[i] * (before / l) + value * (weight / l);
                }
                m = larger;
            }
            __syncthreads(); // everybody has read them before the next tile's
        }
        for (int i = 0; i * THREADS + thread < head_dim; i++)
            ((float *)args.out)[row * head_dim + i * THREADS + thread] = mean[i];
        if (args.lse != NULL && thread == 0) args.lse[row] = m + logf(l);
    }
}

enum kernel_status online_softmax_merge_f32(const struct softmax_pair *a, const struct softmax_pair *b,
                                            struct softmax_pair *out, int count, cudaStream_t stream)
{
    if (a == NULL || b == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (count < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(a, 8) || !is_aligned(b, 8) || !is_aligned(out, 8)) return KERNEL_ALIGNMENT_ERROR;
    merge_kernel<<<BLOCKS, THREADS, 0, stream>>>(a, b, out, count);
    return launch_status();
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, 4) || !is_aligned(out, 4) || !is_aligned(lse, 4)) return KERNEL_ALIGNMENT_ERROR;
    rows_kernel<<<BLOCKS, THREADS, 0, stream>>>(in, out, lse, rows, cols);
    return launch_status();
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > HEAD_DIM_MAX) return KERNEL_INVALID_DIMENSION;
    int rows = args->batch * args->heads * args->q_len;
    attention_kernel<<<BLOCKS, THREADS, 0, stream>>>(*args, attention_scale(args), rows);
    return launch_status();
}

/*
 * A correct solution of another shape: one thread per row, one value or key after another. The output is divided after
 * every key, so that it is right at any time, and the maximum of a row is rounded up to where exp of it is a
 * power of two, so that it changes rarely. Each loses more than others do, and no more than it may.
 */
// covered-by: thread_per_row
#include "online_softmax.h"

/** How many keys query row @p row of all rows sees. */
__device__ inline int keys_seen(const struct attention_args &args, size_t row)
{
    int query = (int)(row % args.q_len);
    return args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
}

/** Offset of the K or V matrix that query row @p row reads. */
__device__ inline size_t kv_offset(const struct attention_args &args, size_t row)
{
    return row / args.q_len / (args.heads / args.kv_heads) * args.kv_len * args.head_dim;
}

enum { THREADS = 64, HEAD_DIM_MAX = 256 };

__device__ inline struct softmax_pair merge_pairs(struct softmax_pair a, struct softmax_pair b)
{
    if (isnan(a.m) || isnan(b.m)) return {NAN, NAN};
    if (a.m == -INFINITY && a.l == 0.0f) return b; // nothing seen in a
    if (b.m == -INFINITY && b.l == 0.0f) return a;
    struct softmax_pair both = {fmaxf(a.m, b.m), 0.0f};
    both.l = a.l * expf(a.m - both.m) + b.l * expf(b.m - both.m);
    return both;
}

__global__ void merge_kernel(const struct softmax_pair *a, // [count]
                             const struct softmax_pair *b, // [count]
                             struct softmax_pair *out,     // [count]
                             int count)
{
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < (size_t)count;
         i += (size_t)gridDim.x * THREADS)
        out[i] = merge_pairs(a[i], b[i]);
}

/** The least multiple of ln 2 that is no smaller than @p x, about: at least @p x in any case, and @p x where floats lie far apart. */
__device__ inline float rounded_up(float x)
{
    return fabsf(x) < 1e5f ? fmaxf(x, ceilf(x * 1.44269504f) * 0.693147181f) : x;
}

__global__ void rows_kernel(const float *in, // [rows, cols]
                            float *out,      // [rows, cols]
                            float *lse,      // [rows] or NULL
                            int rows, int cols)
{
    size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= (size_t)rows) return;
    struct softmax_pair all = {-INFINITY, 0.0f};
    for (int i = 0; i < cols; i++) {
        float x = in[row * cols + i];
        if (x > all.m) {
            float raised = rounded_up(x);
            all.l *= expf(all.m - raised);
            all.m = raised;
        }
        all.l += expf(x - (all.m == -INFINITY ? 0.0f : all.m));
    }
    for (int i = 0; i < cols; i++)
        out[row * cols + i] = all.l == 0.0f ? 0.0f : expf(in[row * cols + i] - all.m) / all.l;
    if (lse != NULL) lse[row] = all.m + logf(all.l);
}

__global__ void attention_kernel(struct attention_args args, float scale, unsigned rows)
{
    size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    const float *q_row = (const float *)args.q + row * args.head_dim;  // [head_dim]
    const float *k_row = (const float *)args.k + kv_offset(args, row); // [head_dim] of the current key
    const float *v_row = (const float *)args.v + kv_offset(args, row); // [head_dim]
    float *out_row = (float *)args.out + row * args.head_dim;          // [head_dim]
    float mean[HEAD_DIM_MAX];
    for (int d = 0; d < args.head_dim; d++) mean[d] = 0.0f;
    struct softmax_pair all = {-INFINITY, 0.0f};
    int seen = keys_seen(args, row);
    for (int key = 0; key < seen; key++, k_row += args.head_dim, v_row += args.head_dim) {
        float score = 0.0f;
        for (int d = 0; d < args.head_dim; d++) score += q_row[d] * k_row[d];
        score *= scale;
        float m = fmaxf(all.m, score), shift = m == -INFINITY ? 0.0f : m;
        float kept = all.l * expf(all.m - shift), p = expf(score - shift);
        float factor = kept + p == 0.0f ? 0.0f : 1.0f / (kept + p);
        for (int d = 0; d < args.head_dim; d++) mean[d] = (kept * mean[d] + p * v_row[d]) * factor;
        all.m = m;
        all.l = kept + p;
    }
    for (int d = 0; d < args.head_dim; d++) out_row[d] = mean[d];
    if (args.lse != NULL) args.lse[row] = all.m + logf(all.l);
}

inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status online_softmax_merge_f32(const struct softmax_pair *a, const struct softmax_pair *b,
                                            struct softmax_pair *out, int count, cudaStream_t stream)
{
    if (a == NULL || b == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (count < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(a, 8) || !is_aligned(b, 8) || !is_aligned(out, 8)) return KERNEL_ALIGNMENT_ERROR;
    merge_kernel<<<3, THREADS, 0, stream>>>(a, b, out, count);
    return launch_status();
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, 4) || !is_aligned(out, 4) || !is_aligned(lse, 4)) return KERNEL_ALIGNMENT_ERROR;
    rows_kernel<<<(unsigned)(rows - 1) / THREADS + 1, THREADS, 0, stream>>>(in, out, lse, rows, cols);
    return launch_status();
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > 256) return KERNEL_INVALID_DIMENSION;
    unsigned rows = (unsigned)(args->batch * args->heads * args->q_len);
    attention_kernel<<<(rows - 1) / THREADS + 1, THREADS, 0, stream>>>(*args, attention_scale(args), rows);
    return launch_status();
}

/*
 * A correct solution of another shape: one warp per row for everything, no shared memory, (m, l) and the sums
 * of the values in double, one key at a time.
 */
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

enum { WARPS = 3, THREADS = 32 * WARPS, PER_LANE = 8 };

struct wide_pair {
    double m, l;
};

__device__ inline double exp_below(double x, double m)
{
    return m == -INFINITY ? exp(x) : exp(x - m);
}

__device__ inline struct wide_pair merge_wide(struct wide_pair a, struct wide_pair b)
{
    struct wide_pair both = {fmax(a.m, b.m), 0.0};
    both.l = a.l * exp_below(a.m, both.m) + b.l * exp_below(b.m, both.m);
    return both;
}

__global__ void merge_kernel(const struct softmax_pair *a, // [count]
                             const struct softmax_pair *b, // [count]
                             struct softmax_pair *out,     // [count]
                             int count)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)count) return;
    struct wide_pair left = {a[i].m, a[i].l}, right = {b[i].m, b[i].l};
    struct wide_pair both = merge_wide(right, left);
    out[i].m = (float)both.m;
    out[i].l = (float)both.l;
}

__global__ void rows_kernel(const float *in, // [rows, cols]
                            float *out,      // [rows, cols]
                            float *lse,      // [rows] or NULL
                            int rows, int cols)
{
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = (int)threadIdx.x % 32;
    if (row >= (size_t)rows) return; // a whole warp at once: nobody waits for it
    struct wide_pair all = {-INFINITY, 0.0};
    for (int i = cols - 1 - lane; i >= 0; i -= 32) {
        struct wide_pair value = {in[row * cols + i], 1.0};
        all = merge_wide(all, value);
    }
    for (int distance = 1; distance < 32; distance *= 2) {
        struct wide_pair other;
        other.m = __shfl_xor_sync(0xffffffffu, all.m, distance);
        other.l = __shfl_xor_sync(0xffffffffu, all.l, distance);
        all = merge_wide(all, other);
    }
    for (int i = lane; i < cols; i += 32)
        out[row * cols + i] = all.l == 0.0 ? 0.0f : (float)(exp_below(in[row * cols + i], all.m) / all.l);
    if (lse != NULL && lane == 0) lse[row] = (float)(all.m + log(all.l));
}

__global__ void attention_kernel(struct attention_args args, float scale, unsigned rows)
{
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = (int)threadIdx.x % 32;
    if (row >= rows) return;                                           // a whole warp at once
    const float *q_row = (const float *)args.q + row * args.head_dim;  // [head_dim]
    const float *k_row = (const float *)args.k + kv_offset(args, row); // [head_dim] of the current key
    const float *v_row = (const float *)args.v + kv_offset(args, row); // [head_dim]
    double sum[PER_LANE] = {};
    struct wide_pair all = {-INFINITY, 0.0};
    int seen = keys_seen(args, row);
    for (int key = 0; key < seen; key++, k_row += args.head_dim, v_row += args.head_dim) {
        double dot = 0.0;
        for (int d = lane; d < args.head_dim; d += 32) dot += (double)q_row[d] * k_row[d];
        for (int distance = 16; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        struct wide_pair value = {scale * dot, 1.0}, before = all;
        all = merge_wide(all, value);
        double keep = exp_below(before.m, all.m), weight = exp_below(value.m, all.m);
        for (int i = 0; i < PER_LANE; i++)
            if (lane + i * 32 < args.head_dim) sum[i] = sum[i] * keep + weight * v_row[lane + i * 32];
    }
    for (int i = 0; i < PER_LANE; i++)
        if (lane + i * 32 < args.head_dim)
            ((float *)args.out)[row * args.head_dim + lane + i * 32] =
                all.l == 0.0 ? (float)sum[i] : (float)(sum[i] / all.l);
    if (args.lse != NULL && lane == 0) args.lse[row] = (float)(all.m + log(all.l));
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
    merge_kernel<<<(unsigned)(count - 1) / THREADS + 1, THREADS, 0, stream>>>(a, b, out, count);
    return launch_status();
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, 4) || !is_aligned(out, 4) || !is_aligned(lse, 4)) return KERNEL_ALIGNMENT_ERROR;
    rows_kernel<<<(unsigned)(rows - 1) / WARPS + 1, THREADS, 0, stream>>>(in, out, lse, rows, cols);
    return launch_status();
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > 256) return KERNEL_INVALID_DIMENSION;
    unsigned rows = (unsigned)(args->batch * args->heads * args->q_len);
    attention_kernel<<<(rows - 1) / WARPS + 1, THREADS, 0, stream>>>(*args, attention_scale(args), rows);
    return launch_status();
}

/*
 * A correct solution of another shape: one thread per block and one block per row, in double; attention is two passes over
 * the keys, one for the pair and one for the output, and computes every score twice.
 */
// covered-by: warp_in_double
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

struct pair {
    double m, l;
};

/** Adds a piece (m, l) to @p all. */
__device__ inline void add_pair(struct pair *all, double m, double l)
{
    double larger = m > all->m ? m : all->m, shift = larger == -INFINITY ? 0.0 : larger;
    all->l = all->l * exp(all->m - shift) + l * exp(m - shift); // a NaN in any of the four comes through here
    all->m = larger;
}

__global__ void merge_kernel(const struct softmax_pair *a, const struct softmax_pair *b,
                             struct softmax_pair *out) // [count] each
{
    struct pair all = {a[blockIdx.x].m, a[blockIdx.x].l};
    add_pair(&all, b[blockIdx.x].m, b[blockIdx.x].l);
    out[blockIdx.x].m = (float)all.m;
    out[blockIdx.x].l = (float)all.l;
}

__global__ void rows_kernel(const float *in, // [rows, cols]
                            float *out,      // [rows, cols]
                            float *lse,      // [rows] or NULL
                            int cols)
{
    size_t first = (size_t)blockIdx.x * cols;
    struct pair all = {-INFINITY, 0.0};
    for (int i = 0; i < cols; i++) add_pair(&all, in[first + i], 1.0);
    double shift = all.m == -INFINITY ? 0.0 : all.m;
    for (int i = 0; i < cols; i++)
        out[first + i] = all.l == 0.0 ? 0.0f : (float)(exp(in[first + i] - shift) / all.l);
    if (lse != NULL) lse[blockIdx.x] = (float)(all.m + log(all.l));
}

__device__ inline double score_of(const float *q, const float *k, int head_dim, float scale)
{
    double sum = 0.0;
    for (int d = 0; d < head_dim; d++) sum += (double)q[d] * k[d];
    return sum * scale;
}

__global__ void attention_kernel(struct attention_args args, float scale)
{
    size_t row = blockIdx.x;
    int head_dim = args.head_dim, seen = keys_seen(args, row);
    const float *q = (const float *)args.q + row * head_dim;       // [head_dim]
    const float *k = (const float *)args.k + kv_offset(args, row); // [kv_len, head_dim]
    const float *v = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    struct pair all = {-INFINITY, 0.0};
    for (int key = 0; key < seen; key++)
        add_pair(&all, score_of(q, k + (size_t)key * head_dim, head_dim, scale), 1.0);
    double sum[HEAD_DIM_MAX], shift = all.m == -INFINITY ? 0.0 : all.m;
    for (int d = 0; d < head_dim; d++) sum[d] = 0.0;
    for (int key = 0; key < seen; key++) {
        double weight = exp(score_of(q, k + (size_t)key * head_dim, head_dim, scale) - shift);
        if (all.l != 0.0) weight /= all.l;
        for (int d = 0; d < head_dim; d++) sum[d] += weight * v[(size_t)key * head_dim + d];
    }
    for (int d = 0; d < head_dim; d++) ((float *)args.out)[row * head_dim + d] = (float)sum[d];
    if (args.lse != NULL) args.lse[row] = (float)(all.m + log(all.l));
}

enum kernel_status online_softmax_merge_f32(const struct softmax_pair *a, const struct softmax_pair *b,
                                            struct softmax_pair *out, int count, cudaStream_t stream)
{
    if (a == NULL || b == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (count < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(a, 8) || !is_aligned(b, 8) || !is_aligned(out, 8)) return KERNEL_ALIGNMENT_ERROR;
    merge_kernel<<<(unsigned)count, 1, 0, stream>>>(a, b, out);
    return launch_status();
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, 4) || !is_aligned(out, 4) || !is_aligned(lse, 4)) return KERNEL_ALIGNMENT_ERROR;
    rows_kernel<<<(unsigned)rows, 1, 0, stream>>>(in, out, lse, cols);
    return launch_status();
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > HEAD_DIM_MAX) return KERNEL_INVALID_DIMENSION;
    int rows = args->batch * args->heads * args->q_len;
    attention_kernel<<<(unsigned)rows, 1, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}

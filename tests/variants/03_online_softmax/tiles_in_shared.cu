/*
 * A correct solution of another shape: a block takes a row in chunks of 128. Threads own values or keys while
 * the chunk is summed up, then own columns while it is weighted; chunk after chunk is merged into a running
 * pair.
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

enum { CHUNK = 128, HEAD_DIM_MAX = 256 };

__device__ inline float exp_below(float x, float m)
{
    return expf(x - (m == -INFINITY ? 0.0f : m));
}

__device__ inline struct softmax_pair merge_pairs(struct softmax_pair a, struct softmax_pair b)
{
    struct softmax_pair both = {a.m > b.m ? a.m : fmaxf(b.m, a.m), 0.0f};
    both.l = fmaf(a.l, exp_below(a.m, both.m), b.l * exp_below(b.m, both.m));
    return both;
}

/** The pair of CHUNK values, one per thread, in every thread. @p tree is [CHUNK] and free again afterwards. */
__device__ inline struct softmax_pair merge_chunk(float value, struct softmax_pair *tree)
{
    tree[threadIdx.x].m = value;
    tree[threadIdx.x].l = 1.0f;
    __syncthreads(); // every value is there
    for (int stride = CHUNK / 2; stride > 0; stride /= 2) {
        if ((int)threadIdx.x < stride)
            tree[threadIdx.x] = merge_pairs(tree[threadIdx.x], tree[threadIdx.x + stride]);
        __syncthreads(); // this level is complete
    }
    struct softmax_pair pair = tree[0];
    __syncthreads(); // everybody has read it before the next chunk overwrites it
    return pair;
}

__global__ void merge_kernel(const struct softmax_pair *a, // [count]
                             const struct softmax_pair *b, // [count]
                             struct softmax_pair *out,     // [count]
                             int count)
{
    size_t i = (size_t)blockIdx.x * CHUNK + threadIdx.x;
    if (i < (size_t)count) out[i] = merge_pairs(a[i], b[i]);
}

__global__ void rows_kernel(const float *in, // [rows, cols]
                            float *out,      // [rows, cols]
                            float *lse,      // [rows] or NULL
                            int cols)
{
    __shared__ struct softmax_pair tree[CHUNK];
    const float *row = in + (size_t)blockIdx.x * cols; // [cols]
    struct softmax_pair all = {-INFINITY, 0.0f};
    for (size_t first = 0; first < (size_t)cols; first += CHUNK) {
        size_t i = first + threadIdx.x;
        all = merge_pairs(all, merge_chunk(i < (size_t)cols ? row[i] : -INFINITY, tree));
    }
    for (size_t i = threadIdx.x; i < (size_t)cols; i += CHUNK)
        out[(size_t)blockIdx.x * cols + i] = all.l == 0.0f ? 0.0f : exp_below(row[i], all.m) / all.l;
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = all.m + logf(all.l);
}

__global__ void attention_kernel(struct attention_args args, float scale)
{
    __shared__ struct softmax_pair tree[CHUNK];
    __shared__ float weight[CHUNK];
    size_t row = blockIdx.x;
    int seen = keys_seen(args, row), me = (int)threadIdx.x;
    const float *q_row = (const float *)args.q + row * args.head_dim; // [head_dim]
    const float *k_bh = (const float *)args.k + kv_offset(args, row); // [kv_len, head_dim]
    const float *v_bh = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    float sum[HEAD_DIM_MAX / CHUNK] = {};
    struct softmax_pair all = {-INFINITY, 0.0f};
    for (int first = 0; first < seen; first += CHUNK) {
        float score = first + me < seen ? 0.0f : -INFINITY;
        for (int d = 0; d < args.head_dim && first + me < seen; d++)
            score += q_row[d] * k_bh[((size_t)first + me) * args.head_dim + d] * scale;
        struct softmax_pair before = all;
        all = merge_pairs(all, merge_chunk(score, tree));
        weight[me] = exp_below(score, all.m);
        __syncthreads(); // every weight is there
        for (int i = 0; i < HEAD_DIM_MAX / CHUNK; i++) {
            int d = me + i * CHUNK;
            sum[i] *= exp_below(before.m, all.m);
            for (int j = 0; d < args.head_dim && j < min((int)CHUNK, seen - first); j++)
                sum[i] += weight[j] * v_bh[((size_t)first + j) * args.head_dim + d];
        }
        __syncthreads(); // everybody has used the weights before the next chunk overwrites them
    }
    for (int i = 0; i < HEAD_DIM_MAX / CHUNK; i++)
        if (me + i * CHUNK < args.head_dim)
            ((float *)args.out)[row * args.head_dim + me + i * CHUNK] =
                all.l == 0.0f ? sum[i] : sum[i] / all.l;
    if (args.lse != NULL && me == 0) args.lse[row] = all.m + logf(all.l);
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
    merge_kernel<<<(unsigned)(count - 1) / CHUNK + 1, CHUNK, 0, stream>>>(a, b, out, count);
    return launch_status();
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, 4) || !is_aligned(out, 4) || !is_aligned(lse, 4)) return KERNEL_ALIGNMENT_ERROR;
    rows_kernel<<<(unsigned)rows, CHUNK, 0, stream>>>(in, out, lse, cols);
    return launch_status();
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > 256) return KERNEL_INVALID_DIMENSION;
    unsigned rows = (unsigned)(args->batch * args->heads * args->q_len);
    attention_kernel<<<rows, CHUNK, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}

/*
 * A correct solution of another shape: powers of 2 in place of powers of e, a maximum that is rounded up to a whole
 * number, sums that are corrected while they run, and five blocks that walk over all rows.
 */
// covered-by: warp_per_row
#include "naive_attention.h"

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

static enum kernel_status check_part(const struct attention_args *args, const float *scores)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (scores == NULL) return KERNEL_INVALID_CONFIG;
    return is_aligned(scores, sizeof(float)) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

static unsigned row_count(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * args->q_len);
}

enum { BLOCKS = 5, LANES = 32 };

#define LOG2_E 1.44269502f
#define LOG2_E_REST 1.92596e-8f /* what a float leaves of it */
#define LN_2 0.69314718f

__device__ inline float warp_sum(float value)
{
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, (unsigned)distance);
    return __shfl_sync(0xffffffffu, value, 0);
}

/** A warp per row, lanes along head_dim. */
__global__ void scores_kernel(struct attention_args args, float scale, size_t rows,
                              float *scores) // [rows, kv_len]
{
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *q = (const float *)args.q + row * args.head_dim; // [head_dim]
        int seen = keys_seen(args, row);
        for (int key = 0; key < args.kv_len; key++) {
            const float *k = (const float *)args.k + kv_offset(args, row) + (size_t)key * args.head_dim;
            float sum = 0.0f;
            for (int d = (int)threadIdx.x; d < args.head_dim && key < seen; d += LANES)
                sum += q[d] * k[d] * scale;
            sum = warp_sum(sum);
            if (threadIdx.x == 0) scores[row * args.kv_len + key] = key < seen ? sum : -INFINITY;
        }
    }
}

/** What to subtract from base-2 exponents, and the exponent of a sum that refers to @p from and is to refer to @p to. */
__device__ inline float correction(float from, float to)
{
    return to == -INFINITY ? 0.0f : exp2f(from - to);
}

/**
 * exp(@p score) / 2^shift: rounded as a sum is, not as a score far from 0 times log2(e) would be. A score beyond 2^24 is alone, or
 * among equals, and both are rounded alike.
 */
__device__ inline float power(float score, float shift)
{
    if (fabsf(score) > 0x1p24f) return exp2f(__fmul_rn(score, LOG2_E) - shift);
    return exp2f(fmaf(score, LOG2_E, -shift) + score * LOG2_E_REST);
}

__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               size_t rows, int kv_len)
{
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float *s = scores + row * kv_len; // [kv_len]
        float m = -INFINITY, l = 0.0f;
        for (int key = (int)threadIdx.x; key < kv_len; key += LANES) {
            float larger = fmaxf(m, ceilf(__fmul_rn(s[key], LOG2_E)));
            l *= larger > m ? correction(m, larger) : 1.0f;
            m = larger;
            if (s[key] != -INFINITY) l += power(s[key], m == -INFINITY ? 0.0f : m);
        }
        float all = m;
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            all = fmaxf(all, __shfl_xor_sync(0xffffffffu, all, distance));
        float sum = warp_sum(isnan(l) ? l : l * correction(m, all)), shift = all == -INFINITY ? 0.0f : all;
        for (int key = (int)threadIdx.x; key < kv_len; key += LANES)
            s[key] = sum == 0.0f ? 0.0f : power(s[key], shift) / sum;
        if (lse != NULL && threadIdx.x == 0) lse[row] = (all + log2f(sum)) * LN_2;
    }
}

/** Lanes along the keys; each element of the output is a sum over the warp. */
__global__ void output_kernel(struct attention_args args, size_t rows,
                              const float *probs) // [rows, kv_len]
{
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *v = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
        int seen = keys_seen(args, row);
        for (int d = 0; d < args.head_dim; d++) {
            float sum = 0.0f;
            for (int key = (int)threadIdx.x; key < seen; key += LANES)
                sum = fmaf(probs[row * args.kv_len + key], v[(size_t)key * args.head_dim + d], sum);
            sum = warp_sum(sum);
            if (threadIdx.x == 0) ((float *)args.out)[row * args.head_dim + d] = sum;
        }
    }
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<BLOCKS, LANES, 0, stream>>>(*args, attention_scale(args), row_count(args), scores);
    return launch_status();
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    softmax_kernel<<<BLOCKS, LANES, 0, stream>>>(scores, args->lse, row_count(args), args->kv_len);
    return launch_status();
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<BLOCKS, LANES, 0, stream>>>(*args, row_count(args), probs);
    return launch_status();
}

size_t naive_attention_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1) return 0;
    uint64_t bytes = sizeof(float);
    int extent[4] = {args->batch, args->heads, args->q_len, args->kv_len};
    for (int i = 0; i < 4; i++)
        if (!multiply_fits(&bytes, (uint64_t)extent[i], INT64_MAX)) return SIZE_MAX;
    return (size_t)bytes;
}

enum kernel_status naive_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status =
        attention_args_check(args, sizeof(float), naive_attention_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    float *scores = (float *)args->workspace;
    status = naive_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_output_f32(args, scores, stream);
    return status;
}

/*
 * A correct solution of another shape, the plainest there is: one thread serves one query head of one sequence,
 * key after key, and merges each as lesson 03 has it. v1 gives it a block of its own; in v2 the heads of a group
 * are the threads of a block. Nothing is split, so no workspace is asked for, however long a sequence may be.
 */
// covered-by: warp_in_double
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { THREADS = 64, HEAD_DIM_MAX = 128 };

/* One thread looks at everything. */
__global__ void validate_kernel(struct paged_attention_args args)
{
    enum kernel_status verdict = KERNEL_OK;
    for (int b = 0; b < args.batch && verdict == KERNEL_OK; b++) {
        int length = args.context_lens[b];
        if (length < 0 || length > args.max_context_len) {
            verdict = KERNEL_INVALID_BLOCK_TABLE;
            break;
        }
        for (int page = 0; page < (length + args.block_size - 1) / args.block_size; page++) {
            int entry = args.block_table[(size_t)b * args.max_blocks + page];
            if (entry < 0 || entry >= args.num_blocks) verdict = KERNEL_INVALID_BLOCK_TABLE;
        }
    }
    *args.device_status = verdict;
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    validate_kernel<<<1, 1, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* All keys of one sequence for one query head. */
__device__ void serve(const struct paged_attention_args &args, int b, int head, float scale)
{
    int head_dim = args.head_dim, length = args.context_lens[b];
    size_t row = ((size_t)b * args.heads + head) * head_dim, from_token = (size_t)args.kv_heads * head_dim;
    size_t kv_head = (size_t)(head / (args.heads / args.kv_heads));
    const __half *q = (const __half *)args.q + row;
    const int *table = args.block_table + (size_t)b * args.max_blocks;
    float m = -INFINITY, l = 0.0f, sum[HEAD_DIM_MAX] = {0.0f};
    for (int t = 0; t < length; t++) {
        size_t token = (size_t)table[t / args.block_size] * args.block_size + t % args.block_size;
        const __half *k = (const __half *)args.k_cache + token * from_token + kv_head * head_dim;
        const __half *v = (const __half *)args.v_cache + token * from_token + kv_head * head_dim;
        float score = 0.0f;
        for (int d = 0; d < head_dim; d++) score += __half2float(q[d]) * __half2float(k[d]);
        score *= scale;
        if (args.alibi_slopes != NULL) score += args.alibi_slopes[head] * (float)(t - (length - 1));
        float larger = fmaxf(m, score), shift = larger == -INFINITY ? 0.0f : larger;
        float correction = expf(m - shift), p = expf(score - shift);
        m = larger;
        l = l * correction + p;
        for (int d = 0; d < head_dim; d++) sum[d] = sum[d] * correction + p * __half2float(v[d]);
    }
    for (int d = 0; d < head_dim; d++)
        ((__half *)args.out)[row + d] = __float2half(l == 0.0f ? sum[d] : sum[d] / l);
}

__global__ void v1_kernel(struct paged_attention_args args, float scale)
{
    if (*args.device_status == KERNEL_OK)
        serve(args, (int)blockIdx.x / args.heads, (int)blockIdx.x % args.heads, scale);
}

__global__ void v2_kernel(struct paged_attention_args args, float scale)
{
    int group = args.heads / args.kv_heads;
    int b = (int)blockIdx.x / args.kv_heads, kv_head = (int)blockIdx.x % args.kv_heads;
    if (*args.device_status != KERNEL_OK) return;
    for (int g = (int)threadIdx.x; g < group; g += THREADS) serve(args, b, kv_head * group + g, scale);
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    v1_kernel<<<args->batch * args->heads, 1, 0, stream>>>(*args, paged_attention_scale(args));
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    (void)args;
    return 0;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    v2_kernel<<<args->batch * args->kv_heads, THREADS, 0, stream>>>(*args, paged_attention_scale(args));
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

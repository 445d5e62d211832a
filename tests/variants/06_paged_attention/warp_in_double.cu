/*
 * A correct solution of another shape: one warp a (sequence, query head), one key at a time, lanes hold
 * columns 2 * lane, 2 * lane + 1, ..., sums in double. Both versions are this kernel; it needs no workspace.
 * The table is judged by many blocks that raise a flag.
 */
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { WARP = 32, WARPS = 2 };

__global__ void validate_kernel(struct paged_attention_args args)
{
    int b = (int)blockIdx.x, length = args.context_lens[b];
    if (length < 0 || length > args.max_context_len) {
        if (threadIdx.x == 0) atomicExch(args.device_status, KERNEL_INVALID_BLOCK_TABLE);
        return;
    }
    for (int page = (int)threadIdx.x; page * args.block_size < length; page += (int)blockDim.x) {
        unsigned entry = (unsigned)args.block_table[(size_t)b * args.max_blocks + page];
        if (entry >= (unsigned)args.num_blocks) atomicExch(args.device_status, KERNEL_INVALID_BLOCK_TABLE);
    }
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (cudaMemsetAsync(args->device_status, 0, sizeof(int), stream) != cudaSuccess) return KERNEL_CUDA_ERROR;
    validate_kernel<<<args->batch, 64, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

__device__ inline double warp_sum(double value)
{
    for (int distance = 1; distance < WARP; distance *= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__global__ void warp_kernel(struct paged_attention_args args, double scale)
{
    int row = (int)(blockIdx.x * WARPS + threadIdx.x / WARP), lane = (int)threadIdx.x % WARP;
    if (row >= args.batch * args.heads || *args.device_status != KERNEL_OK)
        return; // whole warps; no barrier here
    int b = row / args.heads, head = row % args.heads, head_dim = args.head_dim,
        length = args.context_lens[b];
    int kv_head = head / (args.heads / args.kv_heads);
    const __half *q_row = (const __half *)args.q + (size_t)row * head_dim;
    const int *table = args.block_table + (size_t)b * args.max_blocks;
    double slope = args.alibi_slopes == NULL ? 0.0 : (double)args.alibi_slopes[head];
    double m = -(double)INFINITY, l = 0.0, sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (int t = 0; t < length; t++) {
        size_t token = (size_t)table[t / args.block_size] * args.block_size + t % args.block_size;
        size_t offset = (token * args.kv_heads + kv_head) * head_dim;
        double dot = 0.0;
        for (int d = lane; d < head_dim; d += WARP)
            dot += (double)__half2float(q_row[d]) *
                   (double)__half2float(((const __half *)args.k_cache)[offset + d]);
        double score = scale * warp_sum(dot) + slope * (t - (length - 1));
        double larger = fmax(m, score), correction = m == larger ? 1.0 : exp(m - larger),
               p = exp(score - (larger == -(double)INFINITY ? 0.0 : larger));
        m = larger;
        l = l * correction + p;
        for (int i = 0; i < 4 && lane + i * WARP < head_dim; i++)
            sum[i] = sum[i] * correction +
                     p * (double)__half2float(((const __half *)args.v_cache)[offset + lane + i * WARP]);
    }
    for (int i = 0; i < 4 && lane + i * WARP < head_dim; i++)
        ((__half *)args.out)[(size_t)row * head_dim + lane + i * WARP] =
            __float2half(l == 0.0 ? (float)sum[i] : (float)(sum[i] / l));
}

static enum kernel_status launch(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    unsigned blocks = (unsigned)((args->batch * args->heads - 1) / WARPS + 1);
    warp_kernel<<<blocks, WARPS * WARP, 0, stream>>>(*args, (double)paged_attention_scale(args));
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    return launch(args, stream);
}

/* No partial results, and yet a size, so that a workspace that is missing is refused as the contract has
 * it. */
size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    return args != NULL && paged_attention_extents_fit(args) ? 256 : 0;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    return status != KERNEL_OK ? status : launch(args, stream);
}

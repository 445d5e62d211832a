/*
 * A correct solution of another shape: one block a (sequence, K/V head) and no split of the keys. It serves the
 * query heads of the group one after the other, tile by tile of as many keys as it has threads: a thread takes
 * a key and adds up its score in double, then a column and adds up its values in double. v1 is the same for a
 * group of one. The table is judged by a thread an entry.
 */
// covered-by: scores_in_shared
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { THREADS = 160, WARP_OF_ENTRIES = 32 };

__global__ void begin_kernel(int *device_status)
{
    *device_status = KERNEL_OK;
}

/* Block y: sequence; every thread of x one entry. */
__global__ void validate_kernel(struct paged_attention_args args)
{
    for (int b = (int)blockIdx.y; b < args.batch; b += (int)gridDim.y) {
        int page = (int)(blockIdx.x * blockDim.x + threadIdx.x), length = args.context_lens[b];
        int needed = length > 0 && page <= (length - 1) / args.block_size;
        int entry = 0, sound = length >= 0 && length <= args.max_context_len;
        if (sound && needed) entry = args.block_table[(size_t)b * args.max_blocks + page];
        if (!sound || entry < 0 || entry >= args.num_blocks)
            atomicExch(args.device_status, KERNEL_INVALID_BLOCK_TABLE);
    }
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    unsigned pages = (unsigned)((args->max_context_len - 1) / args->block_size + 1);
    dim3 grid((pages - 1) / WARP_OF_ENTRIES + 1, (unsigned)(args->batch < 1000 ? args->batch : 1000));
    begin_kernel<<<1, 1, 0, stream>>>(args->device_status);
    validate_kernel<<<grid, WARP_OF_ENTRIES, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

__device__ inline size_t offset_of(const struct paged_attention_args &args, int b, int kv_head, int t)
{
    size_t page = (size_t)args.block_table[(size_t)b * args.max_blocks + t / args.block_size];
    return ((page * args.block_size + t % args.block_size) * args.kv_heads + kv_head) * args.head_dim;
}

__device__ inline double score_of(const struct paged_attention_args &args, size_t row, size_t offset,
                                  float scale)
{
    double dot = 0.0;
    for (int d = 0; d < args.head_dim; d++)
        dot += (double)__half2float(((const __half *)args.q)[row + d]) *
               (double)__half2float(((const __half *)args.k_cache)[offset + d]);
    return (double)scale * dot;
}

/* One query head; all threads of the block must call it. */
__device__ void serve(const struct paged_attention_args &args, int b, int head, float scale)
{
    __shared__ double score[THREADS];
    int me = (int)threadIdx.x, length = args.context_lens[b], kv_head = head / (args.heads / args.kv_heads);
    size_t row = ((size_t)b * args.heads + head) * args.head_dim;
    double slope = args.alibi_slopes != NULL ? (double)args.alibi_slopes[head] : 0.0;
    double m = -(double)INFINITY, l = 0.0, sum = 0.0;
    for (int first = 0; first < length; first += THREADS) {
        int count = min(THREADS, length - first), t = first + me;
        if (me < count)
            score[me] =
                score_of(args, row, offset_of(args, b, kv_head, t), scale) + slope * (double)(t + 1 - length);
        __syncthreads(); // the scores of this tile are there
        double larger = m;
        for (int i = 0; i < count; i++) larger = fmax(larger, score[i]);
        double shift = larger == -(double)INFINITY ? 0.0 : larger, correction = exp(m - shift);
        m = larger;
        l *= correction;
        sum *= correction;
        for (int i = 0; i < count; i++) {
            double p = exp(score[i] - shift);
            l += p;
            if (me < args.head_dim)
                sum += p * (double)__half2float(
                               ((const __half *)args.v_cache)[offset_of(args, b, kv_head, first + i) + me]);
        }
        __syncthreads(); // nobody needs these scores any more
    }
    if (me < args.head_dim)
        ((__half *)args.out)[row + me] = __float2half(l == 0.0 ? (float)sum : (float)(sum / l));
}

__global__ void block_kernel(struct paged_attention_args args, float scale, int heads_a_block)
{
    int blocks = args.heads / heads_a_block, b = (int)blockIdx.x / blocks;
    int first = (int)blockIdx.x % blocks * heads_a_block;
    if (*args.device_status != KERNEL_OK) return; // the whole block
    for (int g = 0; g < heads_a_block; g++) serve(args, b, first + g, scale);
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    block_kernel<<<args->batch * args->heads, THREADS, 0, stream>>>(*args, paged_attention_scale(args), 1);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* A workspace of one row, to be refused when it is missing though nothing is kept there. */
size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    return args != NULL && paged_attention_extents_fit(args) && args->max_context_len > 256 ? 128 : 0;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    block_kernel<<<args->batch * args->kv_heads, THREADS, 0, stream>>>(*args, paged_attention_scale(args),
                                                                       args->heads / args->kv_heads);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

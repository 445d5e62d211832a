/*
 * A correct solution of another shape: partitions of 100 keys, which end in the middle of pages, each served by
 * one warp for one query head; one more warp merges them in double. Where one partition holds everything, it
 * writes the output itself, and no workspace is asked for. v1 is that for all keys of any sequence.
 */
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { WARP = 32, PARTITION = 100, PER_LANE = 128 / WARP };

__global__ void validate_kernel(struct paged_attention_args args)
{
    int bad = 0;
    for (int b = (int)threadIdx.x; b < args.batch; b += (int)blockDim.x) {
        int length = args.context_lens[b], sound = length >= 0 && length <= args.max_context_len;
        const int *row = args.block_table + (size_t)b * args.max_blocks;
        for (int t = 0; sound && t < length; t += args.block_size) {
            int entry = row[t / args.block_size];
            sound = entry >= 0 && entry < args.num_blocks;
        }
        bad |= !sound;
    }
    bad = __syncthreads_count(bad);
    if (threadIdx.x == 0) *args.device_status = bad > 0 ? KERNEL_INVALID_BLOCK_TABLE : KERNEL_OK;
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    validate_kernel<<<1, 96, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

__device__ inline float warp_sum(float value)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__device__ inline float warp_max(float value)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

__device__ inline size_t offset_of(const struct paged_attention_args &args, int b, int kv_head, int t)
{
    size_t page = (size_t)args.block_table[(size_t)b * args.max_blocks + t / args.block_size];
    return ((page * args.block_size + t % args.block_size) * args.kv_heads + kv_head) * args.head_dim;
}

/* The score of one key, by one lane alone. */
__device__ inline float score_of(const struct paged_attention_args &args, int row, int t, float scale)
{
    int b = row / args.heads, head = row % args.heads, kv_head = head / (args.heads / args.kv_heads);
    const __half *q = (const __half *)args.q + (size_t)row * args.head_dim;
    const __half *k = (const __half *)args.k_cache + offset_of(args, b, kv_head, t);
    float dot = 0.0f, bias = 0.0f;
    for (int d = 0; d < args.head_dim; d++) dot = fmaf(__half2float(q[d]), __half2float(k[d]), dot);
    if (args.alibi_slopes != NULL) bias = args.alibi_slopes[head] * (float)(t + 1 - args.context_lens[b]);
    return fmaf(dot, scale, bias);
}

/** Block x: query head of a sequence; block y: @p keys keys. partial [rows, partitions, head_dim + 2] or NULL. */
__global__ void keys_kernel(struct paged_attention_args args, float scale, int keys, float *partial)
{
    __shared__ float weight[PARTITION];
    int row = (int)blockIdx.x, b = row / args.heads, lane = (int)threadIdx.x, head_dim = args.head_dim;
    int kv_head = row % args.heads / (args.heads / args.kv_heads), length = args.context_lens[b];
    int begin = (int)blockIdx.y * keys, end = min(length, begin + keys);
    float m = -INFINITY, l = 0.0f, sum[PER_LANE] = {0.0f};
    if (*args.device_status != KERNEL_OK) return;
    for (int first = begin; first < end; first += PARTITION) {
        int count = min(PARTITION, end - first);
        float most = m;
        for (int i = lane; i < count; i += WARP) {
            weight[i] = score_of(args, row, first + i, scale);
            most = fmaxf(most, weight[i]);
        }
        most = warp_max(most);
        float shift = most == -INFINITY ? 0.0f : most, correction = expf(m - shift);
        m = most;
        l *= correction;
        for (int i = lane; i < count; i += WARP) {
            weight[i] = expf(weight[i] - shift);
            l += weight[i];
        }
        __syncwarp(); // all weights are there
        for (int c = 0; c * WARP < head_dim; c++) {
            sum[c] *= correction;
            for (int i = 0; i < count; i++) {
                const __half *v = (const __half *)args.v_cache + offset_of(args, b, kv_head, first + i);
                sum[c] = fmaf(weight[i], __half2float(v[c * WARP + lane]), sum[c]);
            }
        }
        __syncwarp(); // nobody needs these weights any more
    }
    l = warp_sum(l);
    for (int c = 0; c * WARP < head_dim; c++) {
        size_t result = ((size_t)row * gridDim.y + blockIdx.y) * (head_dim + 2);
        if (partial == NULL)
            ((__half *)args.out)[(size_t)row * head_dim + c * WARP + lane] =
                __float2half(l == 0.0f ? sum[c] : sum[c] / l);
        else
            partial[result + 2 + c * WARP + lane] = sum[c];
        if (partial != NULL && c == 0 && lane < 2) partial[result + lane] = lane == 0 ? m : l;
    }
}

/* One warp per query head: every lane goes through all pairs, and through its columns of the sums. */
__global__ void merge_kernel(struct paged_attention_args args, const float *partial, int partitions)
{
    int row = (int)blockIdx.x, head_dim = args.head_dim, width = head_dim + 2;
    int used = (args.context_lens[row / args.heads] + PARTITION - 1) / PARTITION;
    const float *results = partial + (size_t)row * partitions * width;
    if (*args.device_status != KERNEL_OK) return;
    float m = -INFINITY;
    for (int i = 0; i < used; i++) m = fmaxf(m, results[(size_t)i * width]);
    for (int d = (int)threadIdx.x; d < head_dim; d += WARP) {
        double sum = 0.0, l = 0.0;
        for (int i = 0; i < used; i++) {
            const float *result = results + (size_t)i * width;
            double factor = m == -INFINITY ? 0.0 : exp((double)result[0] - (double)m);
            l += factor * (double)result[1];
            sum += factor * (double)result[2 + d];
        }
        ((__half *)args.out)[(size_t)row * head_dim + d] = __float2half(used == 0 ? 0.0f : (float)(sum / l));
    }
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    keys_kernel<<<args->batch * args->heads, WARP, 0, stream>>>(*args, paged_attention_scale(args),
                                                                args->max_context_len, NULL);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

static int partitions_of(const struct paged_attention_args *args)
{
    return (args->max_context_len - 1) / PARTITION + 1;
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    if (args == NULL || !paged_attention_extents_fit(args) || partitions_of(args) == 1) return 0;
    return (size_t)args->batch * args->heads * partitions_of(args) * (args->head_dim + 2) * sizeof(float);
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    int partitions = partitions_of(args);
    if (partitions == 1) return paged_attention_v1_f16(args, stream);
    dim3 grid((unsigned)(args->batch * args->heads), (unsigned)partitions);
    float *partial = (float *)args->workspace;
    keys_kernel<<<grid, WARP, 0, stream>>>(*args, paged_attention_scale(args), PARTITION, partial);
    merge_kernel<<<args->batch * args->heads, WARP, 0, stream>>>(*args, partial, partitions);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

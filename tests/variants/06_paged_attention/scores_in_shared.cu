/*
 * A correct solution of another shape, as the first paged kernels were: all scores of a block's keys in
 * dynamic shared memory, whose size comes from max_context_len; a maximum, a sum, then a pass over the
 * values in which each thread has a column of its own. v2 does this for partitions of 64 keys and every
 * query head alone.
 */
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { THREADS = 128, PARTITION = 64 };

__global__ void validate_kernel(struct paged_attention_args args)
{
    __shared__ int bad;
    if (threadIdx.x == 0) bad = 0;
    __syncthreads(); // bad begins at 0 for everybody
    for (int b = (int)threadIdx.x; b < args.batch; b += THREADS) {
        int length = args.context_lens[b];
        if (length < 0 || length > args.max_context_len) {
            atomicExch(&bad, 1);
            continue;
        }
        for (int page = 0; page * args.block_size < length; page++) {
            int entry = args.block_table[(size_t)b * args.max_blocks + page];
            if (entry < 0 || entry >= args.num_blocks) atomicExch(&bad, 1);
        }
    }
    __syncthreads(); // all have judged
    if (threadIdx.x == 0) *args.device_status = bad ? KERNEL_INVALID_BLOCK_TABLE : KERNEL_OK;
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    validate_kernel<<<1, THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** Larger of two, but a NaN stays. */
__device__ inline float larger_of(float a, float b)
{
    return a > b || isnan(a) ? a : b;
}

/** Reduces what each thread gives; all threads must call it. */
__device__ inline float reduce(float value, float *scratch, int maximum)
{
    scratch[threadIdx.x] = value;
    for (int distance = THREADS / 2; distance > 0; distance /= 2) {
        __syncthreads(); // what is read next has been written
        if ((int)threadIdx.x < distance) {
            float other = scratch[threadIdx.x + distance];
            scratch[threadIdx.x] = maximum ? larger_of(value, other) : value + other;
            value = scratch[threadIdx.x];
        }
    }
    __syncthreads(); // scratch[0] is the result
    float result = scratch[0];
    __syncthreads(); // all have read it before it is used again
    return result;
}

__device__ inline size_t offset_of(const struct paged_attention_args &args, int b, int kv_head, int t)
{
    size_t page = (size_t)args.block_table[(size_t)b * args.max_blocks + t / args.block_size];
    return ((page * args.block_size + t % args.block_size) * args.kv_heads + kv_head) * args.head_dim;
}

/**
 * Block x: query head of a sequence; block y: partition of `keys` keys. partial is NULL for a whole result.
 */
__global__ void keys_kernel(struct paged_attention_args args, float scale, int keys, float *partial)
{
    extern __shared__ float scores[]; // [keys]
    __shared__ float scratch[THREADS];
    int row = (int)blockIdx.x, b = row / args.heads, head = row % args.heads, head_dim = args.head_dim;
    int kv_head = head / (args.heads / args.kv_heads), length = args.context_lens[b];
    int begin = (int)blockIdx.y * keys, count = min(length - begin, keys), known_bad = *args.device_status;
    if (known_bad || (count <= 0 && partial != NULL)) return; // the whole block
    const __half *q_row = (const __half *)args.q + (size_t)row * head_dim;
    float max = -INFINITY, sum = 0.0f;
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        const __half *k_row = (const __half *)args.k_cache + offset_of(args, b, kv_head, begin + i);
        float dot = 0.0f;
        for (int d = 0; d < head_dim; d++) dot += __half2float(q_row[d]) * __half2float(k_row[d]);
        scores[i] = dot * scale;
        if (args.alibi_slopes != NULL) scores[i] += args.alibi_slopes[head] * (float)(begin + i + 1 - length);
        max = larger_of(max, scores[i]);
    }
    max = reduce(max, scratch, 1);
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        scores[i] =
            expf(scores[i] - (max == -INFINITY ? 0.0f : max)); // a steep slope hides all keys of a partition
        sum += scores[i];
    }
    sum = reduce(sum, scratch, 0);
    for (int d = (int)threadIdx.x; d < head_dim; d += THREADS) {
        float value = 0.0f;
        for (int i = 0; i < count; i++) {
            const __half *v_row = (const __half *)args.v_cache + offset_of(args, b, kv_head, begin + i);
            value += scores[i] * __half2float(v_row[d]);
        }
        float *result = partial + ((size_t)row * gridDim.y + blockIdx.y) * (head_dim + 2);
        if (partial == NULL)
            ((__half *)args.out)[(size_t)row * head_dim + d] =
                __float2half(sum == 0.0f ? value : value / sum);
        else
            result[d] = value;
        if (partial != NULL && d == 0) {
            result[head_dim] = max;
            result[head_dim + 1] = sum;
        }
    }
}

__global__ void join_kernel(struct paged_attention_args args, const float *partial, int partitions)
{
    int row = (int)blockIdx.x, d = (int)threadIdx.x, head_dim = args.head_dim;
    int used = (args.context_lens[row / args.heads] + PARTITION - 1) / PARTITION;
    if (*args.device_status != KERNEL_OK) return;
    const float *results = partial + (size_t)row * partitions * (head_dim + 2);
    float max = -INFINITY, sum = 0.0f, value = 0.0f;
    for (int i = 0; i < used; i++) max = larger_of(max, results[i * (head_dim + 2) + head_dim]);
    for (int i = 0; i < used; i++) {
        const float *result = results + (size_t)i * (head_dim + 2);
        float weight = expf(result[head_dim] - (max == -INFINITY ? 0.0f : max));
        sum += result[head_dim + 1] * weight;
        value += result[d] * weight;
    }
    ((__half *)args.out)[(size_t)row * head_dim + d] = __float2half(sum == 0.0f ? value : value / sum);
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    size_t bytes = (size_t)args->max_context_len * sizeof(float);
    /* whatever their size: sums of the warps lie beside them */
    cudaFuncSetAttribute(keys_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    keys_kernel<<<args->batch * args->heads, THREADS, bytes, stream>>>(*args, paged_attention_scale(args),
                                                                       args->max_context_len, NULL);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    if (args == NULL || !paged_attention_extents_fit(args)) return 0;
    size_t partitions = (size_t)(args->max_context_len - 1) / PARTITION + 1;
    return (partitions * args->batch * args->heads * (args->head_dim + 2) * sizeof(float) + 255) / 256 * 256;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    int partitions = (args->max_context_len - 1) / PARTITION + 1;
    float *partial = (float *)args->workspace;
    dim3 grid((unsigned)(args->batch * args->heads), (unsigned)partitions);
    keys_kernel<<<grid, THREADS, PARTITION * sizeof(float), stream>>>(*args, paged_attention_scale(args),
                                                                      PARTITION, partial);
    join_kernel<<<args->batch * args->heads, args->head_dim, 0, stream>>>(*args, partial, partitions);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

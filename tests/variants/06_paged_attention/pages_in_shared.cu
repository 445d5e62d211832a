/*
 * A correct solution of another shape: a block of one warp per query head of a group brings one page after the
 * other into shared memory, and every warp takes from there what its head needs. v1 is this with a group of
 * one. v2 splits the pages into two halves of max_context_len, if there are two, and lets the second kernel
 * merge both.
 */
#include "paged_attention.h"

#include <cuda_fp16.h>

enum { WARP = 32, PAGE_MAX = 32, HEAD_DIM_MAX = 128, HEADS_MAX = 8, PER_LANE = HEAD_DIM_MAX / WARP };

__global__ void validate_kernel(struct paged_attention_args args)
{
    int bad = 0;
    for (int b = 0; b < args.batch; b++) {
        int length = args.context_lens[b];
        bad |= length < 0 || length > args.max_context_len;
        for (int page = (int)threadIdx.x; !bad && page * args.block_size < length; page += WARP) {
            int entry = args.block_table[(size_t)b * args.max_blocks + page];
            bad |= entry < 0 || entry >= args.num_blocks;
        }
    }
    unsigned any = __ballot_sync(0xffffffffu, bad);
    if (threadIdx.x == 0) *args.device_status = any ? KERNEL_INVALID_BLOCK_TABLE : KERNEL_OK;
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    validate_kernel<<<1, WARP, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** What a warp knows of its head. */
struct state {
    float q[PER_LANE], sum[PER_LANE], m, l;
};

/** Adds the first @p count tokens of a page in shared memory; @p place is that of its first token. */
__device__ inline void add_page(struct state *state, const __half (*k)[HEAD_DIM_MAX],
                                const __half (*v)[HEAD_DIM_MAX], int head_dim, int count, float scale,
                                float slope, int place)
{
    int lane = (int)threadIdx.x % WARP;
    for (int t = 0; t < count; t++) {
        float score = 0.0f;
        for (int i = 0; lane + i * WARP < head_dim; i++)
            score += state->q[i] * __half2float(k[t][lane + i * WARP]);
        for (int distance = WARP / 2; distance > 0; distance /= 2)
            score += __shfl_xor_sync(0xffffffffu, score, distance);
        score = scale * score + slope * (float)(place + t);
        float m = fmaxf(state->m, score), old = state->m == -INFINITY ? 0.0f : expf(state->m - m);
        float p = score == -INFINITY ? 0.0f : expf(score - m);
        state->m = m;
        state->l = state->l * old + p;
        for (int i = 0; lane + i * WARP < head_dim; i++)
            state->sum[i] = state->sum[i] * old + p * __half2float(v[t][lane + i * WARP]);
    }
}

/**
 * blockIdx.x: sequence and heads; blockIdx.y: half of the keys. A warp per head. partial NULL: write out at
 * once.
 */
__global__ void pages_kernel(struct paged_attention_args args, float scale, int heads, int keys,
                             float *partial)
{
    __shared__ __half k[PAGE_MAX][HEAD_DIM_MAX], v[PAGE_MAX][HEAD_DIM_MAX];
    int group = args.heads / args.kv_heads, blocks = (group - 1) / heads + 1, head_dim = args.head_dim;
    int of_block = (int)blockIdx.x % (blocks * args.kv_heads), b = (int)blockIdx.x / (blocks * args.kv_heads);
    int kv_head = of_block / blocks, warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int in_group = of_block % blocks * heads + warp, mine = in_group < group,
        head = kv_head * group + in_group;
    int length = args.context_lens[b], end = min(length, ((int)blockIdx.y + 1) * keys);
    if (*args.device_status != KERNEL_OK) return; // the whole block
    struct state state = {{0.0f}, {0.0f}, -INFINITY, 0.0f};
    size_t row = (size_t)b * args.heads + head;
    for (int i = 0; mine && lane + i * WARP < head_dim; i++)
        state.q[i] = __half2float(((const __half *)args.q)[row * head_dim + lane + i * WARP]);
    float slope = mine && args.alibi_slopes != NULL ? args.alibi_slopes[head] : 0.0f;
    for (int t = (int)blockIdx.y * keys; t < end; t += args.block_size) {
        size_t page = (size_t)args.block_table[(size_t)b * args.max_blocks + t / args.block_size];
        int count = min(args.block_size, end - t);
        __syncthreads(); // nobody needs the page before any more
        for (int i = (int)threadIdx.x; i < count * head_dim; i += (int)blockDim.x) {
            size_t token = page * args.block_size + i / head_dim;
            size_t from = (token * args.kv_heads + kv_head) * head_dim + i % head_dim;
            k[i / head_dim][i % head_dim] = ((const __half *)args.k_cache)[from];
            v[i / head_dim][i % head_dim] = ((const __half *)args.v_cache)[from];
        }
        __syncthreads(); // the page is there
        add_page(&state, k, v, head_dim, count, scale, slope, t - (length - 1));
    }
    float *result = partial + (row * gridDim.y + blockIdx.y) * (head_dim + 2);
    for (int i = 0; mine && lane + i * WARP < head_dim; i++) {
        if (partial != NULL)
            result[lane + i * WARP] = state.sum[i];
        else
            ((__half *)args.out)[row * head_dim + lane + i * WARP] =
                __float2half(state.l == 0.0f ? state.sum[i] : state.sum[i] / state.l);
    }
    if (mine && partial != NULL && lane == 0) {
        result[head_dim] = state.m;
        result[head_dim + 1] = state.l;
    }
}

__global__ void halves_kernel(struct paged_attention_args args, const float *partial, int halves)
{
    if (*args.device_status != KERNEL_OK) return;
    int head_dim = args.head_dim, d = (int)threadIdx.x;
    const float *first = partial + (size_t)blockIdx.x * halves * (head_dim + 2);
    const float *second = first + (halves - 1) * (head_dim + 2); // the same one, if there is only one
    float m = fmaxf(first[head_dim], second[head_dim]);
    float of_first = first[head_dim] == -INFINITY ? 0.0f : expf(first[head_dim] - m);
    float of_second = halves == 1 || second[head_dim] == -INFINITY ? 0.0f : expf(second[head_dim] - m);
    float l = first[head_dim + 1] * of_first + second[head_dim + 1] * of_second;
    float sum = first[d] * of_first + (halves == 1 ? 0.0f : second[d] * of_second);
    ((__half *)args.out)[(size_t)blockIdx.x * head_dim + d] = __float2half(l == 0.0f ? sum : sum / l);
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    pages_kernel<<<args->batch * args->heads, WARP, 0, stream>>>(*args, paged_attention_scale(args), 1,
                                                                 args->max_context_len, NULL);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** 1 or 2: a half is a whole number of 64 keys. */
static int halves_of(const struct paged_attention_args *args, int *keys)
{
    int pieces = (args->max_context_len - 1) / 64 + 1;
    *keys = (pieces + 1) / 2 * 64;
    return pieces > 1 ? 2 : 1;
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    int keys;
    if (args == NULL || !paged_attention_extents_fit(args)) return 0;
    size_t results = (size_t)args->batch * args->heads * halves_of(args, &keys);
    return (results * (args->head_dim + 2) * sizeof(float) + 255) / 256 * 256;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    int keys, halves = halves_of(args, &keys), group = args->heads / args->kv_heads;
    int heads = group < HEADS_MAX ? group : HEADS_MAX,
        blocks = ((group - 1) / heads + 1) * args->kv_heads * args->batch;
    float *partial = (float *)args->workspace;
    pages_kernel<<<dim3((unsigned)blocks, (unsigned)halves), heads * WARP, 0, stream>>>(
        *args, paged_attention_scale(args), heads, keys, partial);
    halves_kernel<<<args->batch * args->heads, args->head_dim, 0, stream>>>(*args, partial, halves);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

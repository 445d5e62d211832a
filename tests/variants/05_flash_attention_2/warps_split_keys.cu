/*
 * A correct solution of another shape: the warps of a block split the keys, as FlashAttention-1's did, and
 * merge through shared memory at the end. A block has one query row per lane; a key's row is read by all lanes
 * at once.
 */
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { WARPS = 4, ROWS = 32, THREADS = ROWS * WARPS };

__device__ inline float to_float(float x)
{
    return x;
}
__device__ inline float to_float(__half x)
{
    return __half2float(x);
}
__device__ inline void store(float *to, float x)
{
    *to = x;
}
__device__ inline void store(__half *to, float x)
{
    *to = __float2half(x);
}

/** Each warp adds its part to that of the warps before it, one warp after another. */
template <int HEAD_DIM> __device__ inline void merge(float *m, float *l, float *o)
{
    __shared__ float pair[2][ROWS], sum[ROWS][HEAD_DIM + 1];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    for (int turn = 0; turn < WARPS; turn++) {
        if (turn == warp) {
            float other_m = turn == 0 ? -INFINITY : pair[0][lane];
            float both = fmaxf(*m, other_m), shift = both == -INFINITY ? 0.0f : both;
            float mine = expf(*m - shift), others = expf(other_m - shift);
            *l = *l * mine + (turn == 0 ? 0.0f : pair[1][lane] * others);
            for (int d = 0; d < HEAD_DIM; d++)
                o[d] = o[d] * mine + (turn == 0 ? 0.0f : sum[lane][d] * others);
            pair[0][lane] = *m = both;
            pair[1][lane] = *l;
            for (int d = 0; d < HEAD_DIM; d++) sum[lane][d] = o[d];
        }
        __syncthreads(); // this warp's part is there before the next one adds its own
    }
}

template <typename T, int HEAD_DIM> __global__ void tile_kernel(struct attention_args args, float scale)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, tiles = (args.q_len - 1) / ROWS + 1;
    int bh = (int)blockIdx.x / tiles, query = (int)blockIdx.x % tiles * ROWS + lane;
    int row = min(query, args.q_len - 1); // lanes without a row repeat the last one
    int seen = args.causal ? max(args.kv_len - args.q_len + 1 + row, 0) : args.kv_len;
    size_t at = (size_t)bh * args.q_len + row;
    size_t kv_offset = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len * HEAD_DIM;
    const T *q = (const T *)args.q + at * HEAD_DIM;
    float m = -INFINITY, l = 0.0f, o[HEAD_DIM] = {};
    for (int key = warp; key < seen; key += WARPS) {
        const T *k = (const T *)args.k + kv_offset + (size_t)key * HEAD_DIM;
        const T *v = (const T *)args.v + kv_offset + (size_t)key * HEAD_DIM;
        float score = 0.0f;
        for (int d = 0; d < HEAD_DIM; d++) score += to_float(q[d]) * to_float(k[d]);
        score *= scale;
        float larger = fmaxf(m, score), shift = larger == -INFINITY ? 0.0f : larger;
        float correction = expf(m - shift), p = expf(score - shift);
        m = larger;
        l = l * correction + p;
        for (int d = 0; d < HEAD_DIM; d++) o[d] = o[d] * correction + p * to_float(v[d]);
    }
    merge<HEAD_DIM>(&m, &l, o);
    if (warp != WARPS - 1 || query >= args.q_len) return;
    for (int d = 0; d < HEAD_DIM; d++) store((T *)args.out + at * HEAD_DIM + d, l == 0.0f ? o[d] : o[d] / l);
    if (args.lse != NULL) args.lse[at] = m + logf(l);
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    unsigned blocks = (unsigned)(args->batch * args->heads * ((args->q_len - 1) / ROWS + 1));
    float scale = attention_scale(args);
    if (args->head_dim == 32)
        tile_kernel<T, 32><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 64)
        tile_kernel<T, 64><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 128)
        tile_kernel<T, 128><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else
        return KERNEL_INVALID_DIMENSION;
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status flash_attention_2_f32(const struct attention_args *args, cudaStream_t stream)
{
    return attention<float>(args, DTYPE_F32, stream);
}

enum kernel_status flash_attention_2_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}

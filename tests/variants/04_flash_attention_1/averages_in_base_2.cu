/*
 * A correct solution of another shape: 1024 threads per block, a warp per row, tiles of 7 keys. Everything is in base 2,
 * the product with log2(e) and the subtraction of the maximum are one fma, and the maximum is rounded up to a multiple
 * of 8; far from 0, where the maximum is rounded coarsely, products are rounded as it is.
 */
// covered-by: warp_per_row
#include "flash_attention_1.h"

#include <cuda_fp16.h>

#define FAR_AWAY 1048576.0f

enum {
    WARP = 32,
    THREADS = 1024,
    WARPS = THREADS / WARP,
    KEYS = 7,
    HEAD_DIM_MAX = 128,
    EACH_MAX = HEAD_DIM_MAX / WARP
};

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
    *to = __float2half_rn(x);
}

__device__ inline int keys_seen(const struct attention_args &args, int query)
{
    return args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
}

/** A tile of keys and values, as floats. */
struct tile {
    float k[KEYS][HEAD_DIM_MAX], v[KEYS][HEAD_DIM_MAX];
};

/** What is kept of the rows of a head. */
struct rows {
    float *o;     // [q_len, head_dim]
    float *m, *l; // [q_len]
};

/** A score in base 2, rounded up to a multiple of 8. */
__device__ inline float rounded_up(float score)
{
    return isfinite(score) ? ceilf(score * 1.44269504f / 8.0f) * 8.0f : score;
}

/** Adds the first `keys` keys of a tile to a row; o is divided by l at once. */
template <typename T>
__device__ inline void add_keys(const struct rows &rows, int i, const struct tile *tile, int keys,
                                const T *q, // [head_dim]
                                int head_dim, float scale)
{
    int lane = (int)threadIdx.x % WARP;
    float weight[KEYS], top = rows.m[i];
    for (int j = 0; j < KEYS; j++) {
        float part = 0.0f;
        for (int d = lane; d < head_dim && j < keys; d += WARP)
            part = fmaf(to_float(q[d]), tile->k[j][d], part);
        for (int distance = 1; distance < WARP; distance *= 2)
            part += __shfl_xor_sync(0xffffffffu, part, distance);
        weight[j] = j < keys ? part * scale : -INFINITY;
        top = fmaxf(top, rounded_up(weight[j]));
    }
    float shift = top == -INFINITY ? 0.0f : top, kept = rows.l[i] * exp2f(rows.m[i] - shift), sum = kept;
    for (int j = 0; j < KEYS; j++) {
        const float below = fabsf(shift) < FAR_AWAY ? fmaf(weight[j], 1.44269504f, -shift)
                                                    : __fmul_rn(weight[j], 1.44269504f) - shift;
        sum += weight[j] = exp2f(below);
    }
    float factor = sum == 0.0f ? 1.0f : 1.0f / sum;
    if (sum == 0.0f) kept = 1.0f; // a NaN that is there stays
    for (int d = lane; d < head_dim; d += WARP) {
        float o = kept * rows.o[(size_t)i * head_dim + d];
        for (int j = 0; j < keys; j++) o = fmaf(weight[j], tile->v[j][d], o);
        rows.o[(size_t)i * head_dim + d] = o * factor;
    }
    __syncwarp(); // all lanes have read the pair
    if (lane == 0) rows.m[i] = top, rows.l[i] = sum;
    __syncwarp();
}

template <typename T>
__global__ void __launch_bounds__(THREADS) head_kernel(struct attention_args args, float scale, float *o)
{
    __shared__ struct tile tile;
    size_t bh = blockIdx.x, first = bh * (size_t)args.q_len, head_dim = (size_t)args.head_dim;
    size_t kv_bh = bh / (size_t)args.heads * (size_t)args.kv_heads +
                   bh % (size_t)args.heads / (size_t)(args.heads / args.kv_heads);
    const T *k = (const T *)args.k + kv_bh * (size_t)args.kv_len * head_dim; // [kv_len, head_dim]
    const T *v = (const T *)args.v + kv_bh * (size_t)args.kv_len * head_dim; // [kv_len, head_dim]
    const T *q = (const T *)args.q + first * head_dim;                       // [q_len, head_dim]
    float *m = (float *)args.workspace;
    struct rows rows = {o + first * head_dim, m + first, m + (size_t)gridDim.x * args.q_len + first};
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    for (int i = warp; i < args.q_len; i += WARPS) {
        if (lane == 0) rows.m[i] = -INFINITY, rows.l[i] = 0.0f;
        for (int d = lane; d < args.head_dim; d += WARP) rows.o[(size_t)i * head_dim + d] = 0.0f;
    }
    for (int begin = 0; begin < args.kv_len; begin += KEYS) {
        int keys = min(KEYS, args.kv_len - begin);
        __syncthreads(); // all warps are done with the last tile
        for (int e = (int)threadIdx.x; e < keys * args.head_dim; e += THREADS) {
            tile.k[e / args.head_dim][e % args.head_dim] = to_float(k[(size_t)begin * head_dim + e]);
            tile.v[e / args.head_dim][e % args.head_dim] = to_float(v[(size_t)begin * head_dim + e]);
        }
        __syncthreads(); // the tile is complete
        for (int i = warp; i < args.q_len; i += WARPS) {
            int seen = min(keys, keys_seen(args, i) - begin);
            if (seen > 0) add_keys(rows, i, &tile, seen, q + (size_t)i * head_dim, args.head_dim, scale);
        }
    }
    for (int i = warp; i < args.q_len; i += WARPS) {
        for (int d = lane; d < args.head_dim; d += WARP)
            store((T *)args.out + (first + i) * head_dim + d, rows.o[(size_t)i * head_dim + d]);
        if (lane == 0 && args.lse != NULL)
            args.lse[first + i] =
                rows.l[i] == 0.0f ? -INFINITY : (rows.m[i] + log2f(rows.l[i])) * 0.69314718f;
    }
}

size_t flash_attention_1_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->head_dim < 1)
        return 0;
    uint64_t floats = args->dtype == DTYPE_F32 ? 2 : 2 + (uint64_t)args->head_dim; // a row
    uint64_t bytes = sizeof(float);
    int fits = multiply_fits(&bytes, floats, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

template <typename T>
static enum kernel_status launch(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    status = attention_args_check(args, 16, flash_attention_1_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    size_t rows = (size_t)args->batch * args->heads * args->q_len;
    float *o = dtype == DTYPE_F32 ? (float *)args->out : (float *)args->workspace + 2 * rows;
    head_kernel<T>
        <<<(unsigned)(args->batch * args->heads), THREADS, 0, stream>>>(*args, attention_scale(args), o);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status flash_attention_1_f32(const struct attention_args *args, cudaStream_t stream)
{
    return launch<float>(args, DTYPE_F32, stream);
}

enum kernel_status flash_attention_1_f16(const struct attention_args *args, cudaStream_t stream)
{
    return launch<__half>(args, DTYPE_F16, stream);
}

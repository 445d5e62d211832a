/*
 * A correct solution of another shape: tiles of 32 x 32 in shared memory, kept in the storage type; a thread
 * has one row and every fourth key of a tile, then every fourth column. The maximum lags behind by one tile:
 * it is raised only where a row's scores would otherwise grow beyond 2^10 times the old one.
 */
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { TILE = 32, LANES = 4, THREADS = TILE * LANES };

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

template <typename T, int HEAD_DIM>
__device__ inline void load(T (*tile)[HEAD_DIM + 1], const T *from, int rows)
{
    for (int i = (int)threadIdx.x; i < TILE * HEAD_DIM; i += THREADS)
        if (i / HEAD_DIM < rows) tile[i / HEAD_DIM][i % HEAD_DIM] = from[i];
}

template <typename T, int HEAD_DIM> __global__ void tile_kernel(struct attention_args args, float scale)
{
    __shared__ T q[TILE][HEAD_DIM + 1], kv[TILE][HEAD_DIM + 1];
    __shared__ float p[TILE][TILE + 1];
    int row = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, tiles = (args.q_len - 1) / TILE + 1;
    int bh = (int)blockIdx.x / tiles, first = (int)blockIdx.x % tiles * TILE;
    int rows = min(args.q_len - first, (int)TILE), hidden = args.causal ? args.q_len - 1 - first : 0;
    int seen = args.causal ? max(args.kv_len - hidden + row, 0) : args.kv_len;
    int most = args.causal ? max(args.kv_len - hidden + rows - 1, 0) : args.kv_len;
    size_t at = (size_t)bh * args.q_len + first + row;
    size_t kv_offset = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len * HEAD_DIM;
    float m = -INFINITY, l = 0.0f, o[HEAD_DIM / LANES] = {};
    load<T, HEAD_DIM>(q, (const T *)args.q + ((size_t)bh * args.q_len + first) * HEAD_DIM, rows);
    for (int key = 0; key < most; key += TILE) {
        load<T, HEAD_DIM>(kv, (const T *)args.k + kv_offset + (size_t)key * HEAD_DIM, most - key);
        __syncthreads(); // Q and K are complete
        float s[TILE / LANES], largest = -INFINITY;
        for (int j = 0; j < TILE / LANES; j++) {
            int column = lane + j * LANES;
            s[j] = 0.0f;
            if (row < rows && column < most - key)
                for (int d = 0; d < HEAD_DIM; d++) s[j] += to_float(q[row][d]) * to_float(kv[column][d]);
            s[j] = row < rows && column < seen - key ? scale * s[j] : -INFINITY;
            largest = fmaxf(largest, s[j]);
        }
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
        if (largest > m + 6.9f) { // e^6.9 = 2^10: sums stay far from overflow
            float correction = expf(m - largest);
            m = largest;
            l *= correction;
            for (int c = 0; c < HEAD_DIM / LANES; c++) o[c] *= correction;
        }
        float shift = m == -INFINITY ? 0.0f : m;
        for (int j = 0; j < TILE / LANES; j++) l += p[row][lane + j * LANES] = expf(s[j] - shift);
        __syncthreads(); // P is complete, and everybody is done with K
        load<T, HEAD_DIM>(kv, (const T *)args.v + kv_offset + (size_t)key * HEAD_DIM, most - key);
        __syncthreads(); // V is complete
        for (int j = 0; row < rows && j < min(seen - key, (int)TILE); j++)
            for (int c = 0; c < HEAD_DIM / LANES; c++) o[c] += p[row][j] * to_float(kv[j][lane + c * LANES]);
        __syncthreads(); // everybody is done with V and P
    }
    l += __shfl_xor_sync(~0u, l, 1);
    l += __shfl_xor_sync(~0u, l, 2);
    if (row >= rows) return;
    for (int c = 0; c < HEAD_DIM / LANES; c++)
        store((T *)args.out + at * HEAD_DIM + lane + c * LANES, l == 0.0f ? o[c] : o[c] / l);
    if (args.lse != NULL && lane == 0) args.lse[at] = m + logf(l);
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    unsigned blocks = (unsigned)(args->batch * args->heads * ((args->q_len - 1) / TILE + 1));
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

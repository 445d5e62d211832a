/*
 * A correct solution of another shape: whatever tile is asked for, it takes 48 x 80 of C with slices of 12 along k. A
 * thread has 3 x 5 elements that lie 16 apart, and a few blocks stay: each takes every so many of the tiles.
 */
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>

enum {
    SIDE = 16,
    EACH_M = 3,
    EACH_N = 5,
    TILE_M = SIDE * EACH_M,
    TILE_N = SIDE * EACH_N,
    TILE_K = 12,
    MOST_BLOCKS = 9
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
    *to = __float2half(x);
}

/* Element (@p line, @p k) of an operand, 0 outside of it. */
template <typename T>
__device__ inline float element(const T *matrix, size_t line_step, size_t k_step, int line, int lines, int k,
                                int depth)
{
    return line < lines && k < depth ? to_float(matrix[line * line_step + k * k_step]) : 0.0f;
}

template <typename T> __global__ void gemm_kernel(struct gemm_args args, int tiles, int across)
{
    __shared__ float a[TILE_K][TILE_M], b[TILE_K][TILE_N];
    size_t lda = (size_t)args.lda, ldb = (size_t)args.ldb;
    int x = (int)threadIdx.x, y = (int)threadIdx.y, thread = y * SIDE + x,
        depth = args.alpha != 0.0f ? args.k : 0;
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        int row = tile / across * TILE_M, column = tile % across * TILE_N;
        float sum[EACH_M][EACH_N] = {};
        for (int k = 0; k < depth; k += TILE_K) {
            for (int at = thread; at < TILE_K * TILE_M; at += SIDE * SIDE)
                a[at / TILE_M][at % TILE_M] =
                    element((const T *)args.a, args.trans_a ? 1 : lda, args.trans_a ? lda : 1,
                            row + at % TILE_M, args.m, k + at / TILE_M, depth);
            for (int at = thread; at < TILE_K * TILE_N; at += SIDE * SIDE)
                b[at / TILE_N][at % TILE_N] =
                    element((const T *)args.b, args.trans_b ? ldb : 1, args.trans_b ? 1 : ldb,
                            column + at % TILE_N, args.n, k + at / TILE_N, depth);
            __syncthreads(); // both are complete
            for (int p = 0; p < TILE_K && k + p < depth; p++)
                for (int i = 0; i < EACH_M; i++)
                    for (int j = 0; j < EACH_N; j++) sum[i][j] += a[p][y + i * SIDE] * b[p][x + j * SIDE];
            __syncthreads(); // everybody has read them
        }
        for (int i = 0; i < EACH_M; i++)
            for (int j = 0; j < EACH_N; j++) {
                int r = row + y + i * SIDE, c = column + x + j * SIDE;
                if (r >= args.m || c >= args.n) continue;
                T *to = (T *)args.c + (size_t)r * (size_t)args.ldc + c;
                store(to, args.alpha * sum[i][j] + (args.beta != 0.0f ? args.beta * to_float(*to) : 0.0f));
            }
    }
}

template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, int tile, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (tile < GEMM_TILE_AUTO || tile > GEMM_TILE_LARGE) return KERNEL_INVALID_CONFIG;
    int across = (args->n - 1) / TILE_N + 1, tiles = ((args->m - 1) / TILE_M + 1) * across;
    int blocks = tiles < MOST_BLOCKS ? tiles : (int)MOST_BLOCKS;
    gemm_kernel<T><<<(unsigned)blocks, dim3(SIDE, SIDE), 0, stream>>>(*args, tiles, across);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status register_tiled_gemm_f32(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<float>(args, DTYPE_F32, (int)tile, stream);
}

enum kernel_status register_tiled_gemm_f16(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<__half>(args, DTYPE_F16, (int)tile, stream);
}

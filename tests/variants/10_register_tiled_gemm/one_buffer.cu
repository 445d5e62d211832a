/*
 * A correct solution of another shape: tiles of 32 x 32 in one buffer of shared memory, kept in the storage
 * type, 2 x 2 sums per thread, k walked from its end to its beginning. C is written through shared memory.
 */
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>

enum { TILE = 32, SIDE = TILE / 2, THREADS = SIDE * SIDE };

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

/* tile[k][c] of an operand: element (first_k + k, first_c + c), zero outside. */
template <typename T>
__device__ inline void load(T (*tile)[TILE + 1], const T *from, size_t k_step, size_t c_step, int first_k,
                            int first_c, int ks, int cs)
{
    for (int at = (int)threadIdx.x; at < TILE * TILE; at += THREADS) {
        int k = c_step == 1 ? at / TILE : at % TILE, c = c_step == 1 ? at % TILE : at / TILE;
        store(&tile[k][c], 0.0f);
        if (k < ks - first_k && c < cs - first_c)
            tile[k][c] = from[(size_t)(first_k + k) * k_step + (size_t)(first_c + c) * c_step];
    }
}

template <typename T> __global__ void gemm_kernel(struct gemm_args args, int tiles_n)
{
    __shared__ T a[TILE][TILE + 1], b[TILE][TILE + 1];
    __shared__ float c[TILE][TILE + 1];
    size_t lda = (size_t)args.lda, ldb = (size_t)args.ldb;
    int m = (int)blockIdx.x / tiles_n * TILE, n = (int)blockIdx.x % tiles_n * TILE;
    int i = (int)threadIdx.x / SIDE, j = (int)threadIdx.x % SIDE, ks = args.alpha != 0.0f ? args.k : 0;
    float sum[2][2] = {{0.0f}};
    for (int k = ks - 1 - (ks - 1) % TILE; ks > 0 && k >= 0; k -= TILE) {
        load(a, (const T *)args.a, args.trans_a ? lda : 1, args.trans_a ? 1 : lda, k, m, ks, args.m);
        load(b, (const T *)args.b, args.trans_b ? 1 : ldb, args.trans_b ? ldb : 1, k, n, ks, args.n);
        __syncthreads(); // both tiles are complete before anybody multiplies
        for (int x = TILE - 1; x >= 0; x--)
            for (int y = 0; y < 4; y++)
                sum[y / 2][y % 2] += to_float(a[x][i + y / 2 * SIDE]) * to_float(b[x][j + y % 2 * SIDE]);
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    for (int y = 0; y < 4; y++) c[i + y / 2 * SIDE][j + y % 2 * SIDE] = args.alpha * sum[y / 2][y % 2];
    __syncthreads(); // the tile of C is complete before it is written in another order
    for (int at = (int)threadIdx.x; at < TILE * TILE; at += THREADS) {
        int row = at / TILE, column = at % TILE;
        if (row >= args.m - m || column >= args.n - n) continue;
        T *to = (T *)args.c + ((size_t)m + row) * (size_t)args.ldc + (size_t)n + column;
        store(to, c[row][column] + (args.beta != 0.0f ? args.beta * to_float(*to) : 0.0f));
    }
}

template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, int tile, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (tile < GEMM_TILE_AUTO || tile > GEMM_TILE_LARGE) return KERNEL_INVALID_CONFIG;
    int tiles_m = (args->m - 1) / TILE + 1, tiles_n = (args->n - 1) / TILE + 1;
    gemm_kernel<T><<<(unsigned)(tiles_m * tiles_n), THREADS, 0, stream>>>(*args, tiles_n);
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

/*
 * A correct solution of another shape: tiles of 48 x 80, a warp for each of their 15 fragments, slices of 16 along k, and a few blocks that
 * stay: each takes every so many of the tiles. All of C passes through shared memory.
 */
// covered-by: warp_per_fragment
#include "wmma_gemm.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum {
    WARP = 32,
    SIDE = 16,
    TILE_M = 48,
    TILE_N = 80,
    WARPS = TILE_M / SIDE * (TILE_N / SIDE),
    THREADS = WARPS * WARP,
    MOST_BLOCKS = 7,
    RING = 1
};

struct slice {
    alignas(32) half a[TILE_M][SIDE];
    alignas(32) half b[SIDE][TILE_N];
};

/* One slice of 16 along k, zeros outside of the matrices. */
__device__ inline void load(struct slice *to, const struct gemm_args &args, int row, int column, int k)
{
    for (int at = (int)threadIdx.x; at < TILE_M * SIDE; at += THREADS) {
        int i = at / SIDE, p = at % SIDE;
        bool inside = row + i < args.m && k + p < args.k;
        to->a[i][p] =
            inside ? ((const half *)args.a)[(size_t)(row + i) * args.lda + k + p] : __float2half(0.0f);
    }
    for (int at = (int)threadIdx.x; at < TILE_N * SIDE; at += THREADS) {
        int p = at / TILE_N, j = at % TILE_N;
        bool inside = k + p < args.k && column + j < args.n;
        to->b[p][j] =
            inside ? ((const half *)args.b)[(size_t)(k + p) * args.ldb + column + j] : __float2half(0.0f);
    }
}

static __global__ void product_kernel(struct gemm_args args, int tiles, int across)
{
    __shared__ struct slice ring[RING];
    __shared__ alignas(32) float out[WARPS][SIDE][SIDE];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP, stages = RING > 1 ? args.stages : 1;
    int down = warp / (TILE_N / SIDE) * SIDE, right = warp % (TILE_N / SIDE) * SIDE,
        steps = (args.k - 1) / SIDE + 1;
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        int row = tile / across * TILE_M, column = tile % across * TILE_N;
        wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sum;
        wmma::fill_fragment(sum, 0.0f);
        for (int step = 0; step < steps + stages - 1; step++) { // loads run ahead of products by stages - 1
            if (step < steps) load(&ring[step % stages], args, row, column, step * SIDE);
            __syncthreads(); // the slice is complete
            if (step >= stages - 1) {
                const struct slice *now = &ring[(step - stages + 1) % stages];
                wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b;
                wmma::load_matrix_sync(a, &now->a[down][0], SIDE);
                wmma::load_matrix_sync(b, &now->b[0][right], TILE_N);
                wmma::mma_sync(sum, a, b, sum);
            }
            __syncthreads(); // everybody has read it before it is filled again
        }
        wmma::store_matrix_sync(&out[warp][0][0], sum, SIDE, wmma::mem_row_major);
        __syncwarp(); // other lanes hold what this one writes
        for (int at = lane; at < SIDE * SIDE; at += WARP) {
            int i = row + down + at / SIDE, j = column + right + at % SIDE;
            if (i < args.m && j < args.n)
                ((float *)args.c)[(size_t)i * args.ldc + j] = out[warp][at / SIDE][at % SIDE];
        }
        __syncwarp(); // read by all before the next tile overwrites it
    }
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    int across = (args->n - 1) / TILE_N + 1, tiles = ((args->m - 1) / TILE_M + 1) * across;
    product_kernel<<<(unsigned)(tiles < MOST_BLOCKS ? tiles : (int)MOST_BLOCKS), THREADS, 0, stream>>>(
        *args, tiles, across);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

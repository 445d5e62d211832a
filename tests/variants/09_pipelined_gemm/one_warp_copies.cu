/*
 * Roles: the first warp only copies, the other four only multiply. The copying warp waits for its own copies
 * and then comes to the barrier, which tells the others. Two stages, whatever was asked for.
 */
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

enum { WARP = 32, WORKERS = 4, SIDE = 16, TILE = 32, DEPTH = 32, PAD = 8, VECTOR = 8, CORNER = SIDE + 8 };

struct stage {
    half a[TILE][DEPTH + PAD];
    half b[DEPTH][TILE + PAD];
};

static __device__ void copy_tile(half to[TILE][DEPTH + PAD], const void *data, int rows, int columns,
                                 int leading, int row, int column)
{
    static_assert(TILE == DEPTH, "tiles of A and of B are alike");
    bool vectors = (uintptr_t)data % 16 == 0 && leading % VECTOR == 0;
    for (int i = (int)threadIdx.x; i < TILE * DEPTH / VECTOR; i += WARP) {
        int y = i / (DEPTH / VECTOR), x = i % (DEPTH / VECTOR) * VECTOR;
        int left = y < rows - row ? columns - column - x : 0;
        const half *from = (const half *)data + (size_t)(row + (left > 0 ? y : 0)) * leading + column + x;
        if (vectors && left >= VECTOR)
            __pipeline_memcpy_async(&to[y][x], from, 16);
        else
            for (int e = 0; e < VECTOR; e++) to[y][x + e] = e < left ? from[e] : __float2half(0.0f);
    }
}

static __device__ void store_quarter(const struct gemm_args &args, int row, int column,
                                     const float c[SIDE][CORNER])
{
    for (int i = (int)threadIdx.x % WARP; i < SIDE * SIDE; i += WARP) {
        int y = i / SIDE, x = i % SIDE;
        if (y < args.m - row && x < args.n - column)
            ((float *)args.c)[(size_t)(row + y) * args.ldc + column + x] = c[y][x];
    }
}

static __global__ void product_kernel(struct gemm_args args)
{
    __shared__ __align__(32) struct stage stages[2];
    __shared__ __align__(32) float c[WORKERS][SIDE][CORNER];
    int across = args.n / TILE + (args.n % TILE != 0), steps = args.k / DEPTH + (args.k % DEPTH != 0);
    int row = (int)blockIdx.x / across * TILE, column = (int)blockIdx.x % across * TILE;
    int worker = (int)threadIdx.x / WARP - 1; // -1: this warp copies
    int down = worker / 2 * SIDE, right = worker % 2 * SIDE;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step <= steps; step++) { // copies of one step beside products of the step before
        struct stage *stage = &stages[(step + (worker >= 0)) % 2];
        if (worker < 0 && step < steps) {
            copy_tile(stage->a, args.a, args.m, args.k, args.lda, row, step * DEPTH);
            copy_tile(stage->b, args.b, args.k, args.n, args.ldb, step * DEPTH, column);
            __pipeline_commit();
            __pipeline_wait_prior(0);
        }
        for (int k = 0; worker >= 0 && step > 0 && k < DEPTH; k += SIDE) {
            wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b;
            wmma::load_matrix_sync(a, &stage->a[down][k], DEPTH + PAD);
            wmma::load_matrix_sync(b, &stage->b[k][right], TILE + PAD);
            wmma::mma_sync(sum, a, b, sum);
        }
        __syncthreads(); // the next stage is complete, and this one has been multiplied
    }
    if (worker < 0) return;
    wmma::store_matrix_sync(&c[worker][0][0], sum, CORNER, wmma::mem_row_major);
    __syncwarp(); // the quarter is complete
    store_quarter(args, row + down, column + right, c[worker]);
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > 4) return KERNEL_INVALID_CONFIG;
    int blocks = (args->m / TILE + (args->m % TILE != 0)) * (args->n / TILE + (args->n % TILE != 0));
    product_kernel<<<(unsigned)blocks, (1 + WORKERS) * WARP, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

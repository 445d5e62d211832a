/*
 * The pipeline in its simplest order: wait, barrier, copies of what comes later. Then the whole tile is
 * multiplied, fragments being loaded right before they are used. A stage is free as soon as all are behind
 * the next barrier.
 */
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

enum {
    WARP = 32,
    WARPS = 4,
    THREADS = WARPS * WARP,
    SIDE = 16,
    TILE_M = SIDE * WARPS, // a warp has 16 rows
    TILE_N = 32,
    TILE_K = 32,
    VECTOR = 8,
    PAD = 8,
    CORNER = TILE_N + 8,
    MAX_STAGES = 4
};

struct stage {
    half a[TILE_M][TILE_K + PAD];
    half b[TILE_K][TILE_N + PAD];
};
static_assert(sizeof(struct stage) % 128 == 0, "every stage begins where fragments may");

/** Begins to copy a tile of @p rows_of_tile x 32 that begins at (row, column) of a matrix; zeros outside. */
static __device__ void copy_tile(half (*to)[TILE_K + PAD], int rows_of_tile, const void *data, int rows,
                                 int columns, int leading, int row, int column)
{
    static_assert(TILE_N == TILE_K, "tiles of A and of B have rows of one length");
    bool vectors = (uintptr_t)data % sizeof(uint4) == 0 && leading % VECTOR == 0;
    for (int i = (int)threadIdx.x; i < rows_of_tile * TILE_K / VECTOR; i += THREADS) {
        int y = i / (TILE_K / VECTOR), x = i % (TILE_K / VECTOR) * VECTOR;
        int left = y < rows - row ? columns - column - x : 0;
        const half *from = (const half *)data + (size_t)(row + (left > 0 ? y : 0)) * leading + column + x;
        if (vectors && left >= VECTOR)
            __pipeline_memcpy_async(&to[y][x], from, sizeof(uint4));
        else
            for (int e = 0; e < VECTOR; e++) to[y][x + e] = e < left ? from[e] : __float2half(0.0f);
    }
}

/** A group of copies: the tiles of a step, or nothing if there is no such step. */
static __device__ void fill_stage(const struct gemm_args &args, struct stage *stage, int row, int column,
                                  int step)
{
    if (step <= (args.k - 1) / TILE_K) {
        copy_tile(stage->a, TILE_M, args.a, args.m, args.k, args.lda, row, step * TILE_K);
        copy_tile(stage->b, TILE_K, args.b, args.k, args.n, args.ldb, step * TILE_K, column);
    }
    __pipeline_commit();
}

/** Waits for the group of a step: as many younger ones may be under way as there are other stages filled. */
static __device__ void wait_for_step(int stages)
{
    if (stages <= 2)
        __pipeline_wait_prior(0);
    else if (stages == 3)
        __pipeline_wait_prior(1);
    else
        __pipeline_wait_prior(2);
}

typedef wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> fragment_c;

static __device__ void multiply(fragment_c sum[TILE_N / SIDE], const struct stage *stage)
{
    int warp = (int)threadIdx.x / WARP;
    for (int k = 0; k < TILE_K; k += SIDE) {
        wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> a;
        wmma::load_matrix_sync(a, &stage->a[warp * SIDE][k], TILE_K + PAD);
        for (int j = 0; j < TILE_N / SIDE; j++) {
            wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b;
            wmma::load_matrix_sync(b, &stage->b[k][j * SIDE], TILE_N + PAD);
            wmma::mma_sync(sum[j], a, b, sum[j]);
        }
    }
}

static __global__ void product_kernel(struct gemm_args args)
{
    __shared__ __align__(128) struct stage stages[MAX_STAGES];
    __shared__ __align__(32) float c[TILE_M][CORNER];
    int across = args.n / TILE_N + (args.n % TILE_N != 0), steps = args.k / TILE_K + (args.k % TILE_K != 0);
    int row = (int)blockIdx.x / across * TILE_M, column = (int)blockIdx.x % across * TILE_N;
    fragment_c sum[TILE_N / SIDE];
    for (int j = 0; j < TILE_N / SIDE; j++) wmma::fill_fragment(sum[j], 0.0f);
    int ahead = args.stages - 1;
    for (int step = 0; step < ahead; step++) fill_stage(args, &stages[step], row, column, step);
    for (int step = 0; step < steps; step++) {
        if (ahead == 0) fill_stage(args, stages, row, column, step);
        wait_for_step(args.stages);
        __syncthreads(); // the tile is complete, and all have multiplied the one before
        if (ahead > 0) fill_stage(args, &stages[(step + ahead) % args.stages], row, column, step + ahead);
        multiply(sum, &stages[step % args.stages]);
        if (ahead == 0) __syncthreads(); // the only stage may be filled again
    }
    int warp = (int)threadIdx.x / WARP;
    for (int j = 0; j < TILE_N / SIDE; j++)
        wmma::store_matrix_sync(&c[warp * SIDE][j * SIDE], sum[j], CORNER, wmma::mem_row_major);
    __syncthreads(); // c is complete
    for (int i = (int)threadIdx.x; i < TILE_M * TILE_N; i += THREADS) {
        int y = i / TILE_N, x = i % TILE_N;
        if (y < args.m - row && x < args.n - column)
            ((float *)args.c)[(size_t)(row + y) * args.ldc + column + x] = c[y][x];
    }
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > MAX_STAGES) return KERNEL_INVALID_CONFIG;
    unsigned blocks = (unsigned)((args->m / TILE_M + (args->m % TILE_M != 0)) *
                                 (args->n / TILE_N + (args->n % TILE_N != 0)));
    product_kernel<<<blocks, THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

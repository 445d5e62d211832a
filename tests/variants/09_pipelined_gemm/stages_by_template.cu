/*
 * A kernel a number of stages, copies of 4 bytes where rows are even, zeros by the copy itself, 32 x 32 of C
 * a block of one warp. Nobody but the warp uses its tiles: __syncwarp() is barrier enough.
 */
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <mma.h>

using namespace nvcuda;

enum { WARP = 32, SIDE = 16, TILE = 32, DEPTH = 16, PAD = 8, CORNER = TILE + 8 };

struct stage {
    half a[TILE][DEPTH + PAD];
    half b[DEPTH][TILE + PAD];
};

/** Two neighbours of a row, of which left are inside of the matrix. */
static __device__ void copy_pair(half *to, const half *from, int left, bool even)
{
    if (left <= 0)
        __pipeline_memcpy_async(to, from, 4, 4); // zeros only: nothing is read
    else if (left == 1)
        *(half2 *)to = __halves2half2(from[0], __float2half(0.0f));
    else if (even)
        __pipeline_memcpy_async(to, from, 4);
    else
        *(half2 *)to = __halves2half2(from[0], from[1]);
}

template <int ROWS, int COLUMNS>
static __device__ void copy_tile(half to[ROWS][COLUMNS + PAD], const void *data, int rows, int columns,
                                 int leading, int row, int column)
{
    bool even = (uintptr_t)data % 4 == 0 && leading % 2 == 0;
    for (int i = (int)threadIdx.x; i < ROWS * COLUMNS / 2; i += WARP) {
        int y = i / (COLUMNS / 2), x = i % (COLUMNS / 2) * 2;
        int left = y < rows - row ? columns - column - x : 0;
        const half *from =
            left > 0 ? (const half *)data + (size_t)(row + y) * leading + column + x : (const half *)data;
        copy_pair(&to[y][x], from, left, even);
    }
}

static __device__ void fill_stage(const struct gemm_args &args, struct stage *stage, int row, int column,
                                  int k)
{
    copy_tile<TILE, DEPTH>(stage->a, args.a, args.m, args.k, args.lda, row, k);
    copy_tile<DEPTH, TILE>(stage->b, args.b, args.k, args.n, args.ldb, k, column);
}

typedef wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> fragment_c;

static __device__ void multiply(fragment_c sum[2][2], const struct stage *stage)
{
    wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b[2];
    for (int j = 0; j < 2; j++) wmma::load_matrix_sync(b[j], &stage->b[0][j * SIDE], TILE + PAD);
    for (int i = 0; i < 2; i++) {
        wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> a;
        wmma::load_matrix_sync(a, &stage->a[i * SIDE][0], DEPTH + PAD);
        for (int j = 0; j < 2; j++) wmma::mma_sync(sum[i][j], a, b[j], sum[i][j]);
    }
}

template <int STAGES> static __global__ void product_kernel(struct gemm_args args)
{
    __shared__ __align__(32) struct stage stages[STAGES];
    __shared__ __align__(32) float c[TILE][CORNER];
    int across = args.n / TILE + (args.n % TILE != 0), steps = args.k / DEPTH + (args.k % DEPTH != 0);
    int row = (int)blockIdx.x / across * TILE, column = (int)blockIdx.x % across * TILE;
    fragment_c sum[2][2];
    for (int i = 0; i < 4; i++) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int step = 0; step < STAGES; step++) {
        if (step < steps) fill_stage(args, &stages[step], row, column, step * DEPTH);
        __pipeline_commit();
    }
    for (int step = 0; step < steps; step++) {
        __pipeline_wait_prior(STAGES - 1);
        __syncwarp(); // the step's tiles have landed for all lanes
        multiply(sum, &stages[step % STAGES]);
        __syncwarp(); // all lanes have read them
        if (steps - step > STAGES)
            fill_stage(args, &stages[step % STAGES], row, column, (step + STAGES) * DEPTH);
        __pipeline_commit();
    }
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(&c[i / 2 * SIDE][i % 2 * SIDE], sum[i / 2][i % 2], CORNER,
                                wmma::mem_row_major);
    __syncwarp(); // c is complete
    for (int i = (int)threadIdx.x; i < TILE * TILE; i += WARP) {
        int y = i / TILE, x = i % TILE;
        if (y < args.m - row && x < args.n - column)
            ((float *)args.c)[(size_t)(row + y) * args.ldc + column + x] = c[y][x];
    }
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    unsigned blocks =
        (unsigned)((args->m / TILE + (args->m % TILE != 0)) * (args->n / TILE + (args->n % TILE != 0)));
    switch (args->stages) {
    case 1:
        product_kernel<1><<<blocks, WARP, 0, stream>>>(*args);
        break;
    case 2:
        product_kernel<2><<<blocks, WARP, 0, stream>>>(*args);
        break;
    case 3:
        product_kernel<3><<<blocks, WARP, 0, stream>>>(*args);
        break;
    case 4:
        product_kernel<4><<<blocks, WARP, 0, stream>>>(*args);
        break;
    default:
        return KERNEL_INVALID_CONFIG;
    }
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/*
 * The definition on tensor cores: one warp per block, one 16 x 16 fragment of C, one tile at a time, loaded
 * element by element. The number of stages is checked and then not used: it may change nothing but the time.
 */
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { SIDE = 16, WARP = 32, LEADING = SIDE + 8, CORNER = SIDE + 8 };

/** Rows and columns from (row, column) on, as far as they exist; 0 elsewhere. */
static __device__ void load_tile(half tile[SIDE][LEADING], const void *data, int rows, int columns,
                                 int leading, int row, int column)
{
    for (int i = (int)threadIdx.x; i < SIDE * SIDE; i += WARP) {
        int y = i / SIDE, x = i % SIDE;
        int inside = y < rows - row && x < columns - column;
        tile[y][x] =
            inside ? ((const half *)data)[(size_t)(row + y) * leading + column + x] : __float2half(0.0f);
    }
}

static __global__ void product_kernel(struct gemm_args args)
{
    __shared__ __align__(32) half a[SIDE][LEADING], b[SIDE][LEADING];
    __shared__ __align__(32) float c[SIDE][CORNER];
    int across = args.n / SIDE + (args.n % SIDE != 0);
    int row = (int)blockIdx.x / across * SIDE, column = (int)blockIdx.x % across * SIDE;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0;; k += SIDE) {
        wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> fragment_a;
        wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> fragment_b;
        load_tile(a, args.a, args.m, args.k, args.lda, row, k);
        load_tile(b, args.b, args.k, args.n, args.ldb, k, column);
        __syncwarp(); // the tiles are complete
        wmma::load_matrix_sync(fragment_a, &a[0][0], LEADING);
        wmma::load_matrix_sync(fragment_b, &b[0][0], LEADING);
        wmma::mma_sync(sum, fragment_a, fragment_b, sum);
        __syncwarp(); // the tiles are in registers and may be overwritten
        if (args.k - k <= SIDE) break;
    }
    wmma::store_matrix_sync(&c[0][0], sum, CORNER, wmma::mem_row_major);
    __syncwarp(); // c is complete
    for (int i = (int)threadIdx.x; i < SIDE * SIDE; i += WARP) {
        int y = i / SIDE, x = i % SIDE;
        if (y < args.m - row && x < args.n - column)
            ((float *)args.c)[(size_t)(row + y) * args.ldc + column + x] = c[y][x];
    }
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > 4) return KERNEL_INVALID_CONFIG;
    int blocks = (args->m / SIDE + (args->m % SIDE != 0)) * (args->n / SIDE + (args->n % SIDE != 0));
    product_kernel<<<(unsigned)blocks, WARP, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

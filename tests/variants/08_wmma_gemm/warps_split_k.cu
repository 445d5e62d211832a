/*
 * Variant: the four warps of a block have the same 32 x 32 elements of C and share out the terms of the sum;
 * what they have is added up in shared memory, in a fixed order. B is turned round on its way into shared
 * memory and loaded by columns; the tiles have no pad.
 */
#include "wmma_gemm.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { WARP = 32, WARPS = 4, THREADS = WARPS * WARP, TILE = 32, FRAGMENT = 16, SLICE = WARPS * FRAGMENT };

static __global__ void product_kernel(struct gemm_args args)
{
    __shared__ alignas(32) half a_tile[TILE][SLICE], b_turned[TILE][SLICE]; // b_turned[j][p]
    __shared__ alignas(32) float part[WARPS][TILE][TILE];
    int across = (args.n - 1) / TILE + 1, warp = (int)threadIdx.x / WARP;
    int i = (int)blockIdx.x / across * TILE, j = (int)blockIdx.x % across * TILE;
    const half *a = (const half *)args.a, *b = (const half *)args.b, zero = __float2half(0.0f);
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> c[2][2];
    for (int x = 0; x < 4; x++) wmma::fill_fragment(c[x / 2][x % 2], 0.0f);
    for (int k = 0; k < args.k; k += SLICE) {
        for (int at = (int)threadIdx.x; at < TILE * SLICE; at += THREADS) {
            int row = at / SLICE, p = at % SLICE;
            bool a_exists = i + row < args.m && k + p < args.k;
            a_tile[row][p] = a_exists ? a[(size_t)(i + row) * args.lda + k + p] : zero;
            int col = at % TILE, q = at / TILE;
            bool b_exists = j + col < args.n && k + q < args.k;
            b_turned[col][q] = b_exists ? b[(size_t)(k + q) * args.ldb + j + col] : zero;
        }
        __syncthreads(); // both tiles are complete
        for (int x = 0; x < 4; x++) {
            wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> of_a;
            wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::col_major> of_b;
            wmma::load_matrix_sync(of_a, &a_tile[x / 2 * FRAGMENT][warp * FRAGMENT], SLICE);
            wmma::load_matrix_sync(of_b, &b_turned[x % 2 * FRAGMENT][warp * FRAGMENT], SLICE);
            wmma::mma_sync(c[x / 2][x % 2], of_a, of_b, c[x / 2][x % 2]);
        }
        __syncthreads(); // both tiles are read
    }
    for (int x = 0; x < 4; x++)
        wmma::store_matrix_sync(&part[warp][x / 2 * FRAGMENT][x % 2 * FRAGMENT], c[x / 2][x % 2], TILE,
                                wmma::mem_row_major);
    __syncthreads(); // the parts of all warps are there
    for (int at = (int)threadIdx.x; at < TILE * TILE; at += THREADS) {
        int row = at / TILE, col = at % TILE;
        if (i + row >= args.m || j + col >= args.n) continue;
        float sum = 0.0f;
        for (int w = 0; w < WARPS; w++) sum += part[w][row][col];
        ((float *)args.c)[(size_t)(i + row) * args.ldc + j + col] = sum;
    }
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    int blocks = ((args->m - 1) / TILE + 1) * ((args->n - 1) / TILE + 1);
    product_kernel<<<blocks, THREADS, 0, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

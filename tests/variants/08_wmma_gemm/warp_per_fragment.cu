/*
 * Variant: one warp per block and one fragment of C per warp. Fragments are loaded straight from A and B where they
 * lie within, and by way of shared memory where they stick out. Other fragments too: 32 x 8 in place of 16 x 16.
 */
#include "wmma_gemm.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { WARP = 32, M = 32, N = 8, K = 16 };

/* Copies the part of a matrix that exists, and zeros. */
template <int ROWS, int COLS>
static __device__ void copy_part(half *to, const half *from, size_t leading, int rows, int cols)
{
    for (int at = (int)threadIdx.x; at < ROWS * COLS; at += WARP)
        to[at] =
            at / COLS < rows && at % COLS < cols ? from[at / COLS * leading + at % COLS] : __float2half(0.0f);
}

static __global__ void product_kernel(struct gemm_args args, bool direct)
{
    __shared__ alignas(32) half a_part[M * K], b_part[K * N];
    __shared__ alignas(32) float c_part[M * N];
    int across = (args.n - 1) / N + 1, i = (int)blockIdx.x / across * M, j = (int)blockIdx.x % across * N;
    int rows = args.m - i, cols = args.n - j;
    wmma::fragment<wmma::matrix_a, M, N, K, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, K, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, M, N, K, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < args.k; k += K) {
        const half *of_a = (const half *)args.a + (size_t)i * args.lda + k;
        const half *of_b = (const half *)args.b + (size_t)k * args.ldb + j;
        if (direct && rows >= M && cols >= N && args.k - k >= K) {
            wmma::load_matrix_sync(a, of_a, (unsigned)args.lda);
            copy_part<K, N>(b_part, of_b, (size_t)args.ldb, K,
                            N); // 8 columns begin at no multiple of 32 bytes
        } else {
            copy_part<M, K>(a_part, of_a, (size_t)args.lda, rows, args.k - k);
            copy_part<K, N>(b_part, of_b, (size_t)args.ldb, args.k - k, cols);
        }
        __syncwarp();
        if (!(direct && rows >= M && cols >= N && args.k - k >= K)) wmma::load_matrix_sync(a, a_part, K);
        wmma::load_matrix_sync(b, b_part, N);
        wmma::mma_sync(c, a, b, c);
        __syncwarp();
    }
    wmma::store_matrix_sync(c_part, c, M, wmma::mem_col_major);
    __syncwarp();
    for (int at = (int)threadIdx.x; at < M * N; at += WARP)
        if (at % M < rows && at / M < cols)
            ((float *)args.c)[(size_t)(i + at % M) * args.ldc + j + at / M] = c_part[at];
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    int blocks = ((args->m - 1) / M + 1) * ((args->n - 1) / N + 1);
    product_kernel<<<blocks, WARP, 0, stream>>>(*args, is_aligned(args->a, 32) && args->lda % 16 == 0);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

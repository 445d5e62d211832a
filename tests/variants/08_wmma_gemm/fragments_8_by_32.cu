/*
 * A correct solution of another shape: fragments of 8 x 32 x 16, 896 threads per block (more would not fit into the
 * shared memory of sm_75), five blocks that walk over C, k from last to first, and all shared memory dynamic.
 */
#include "wmma_gemm.h"
#include <cuda_fp16.h>
#include <mma.h>
static enum kernel_status launched(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}
using namespace nvcuda;
enum { FM = 8, FN = 32, FK = 16, WARPS = 28 };
struct desk {
    __half a[FM * FK], b[FK * FN];
    float c[FM * FN];
};
__global__ void __launch_bounds__(WARPS * 32) walk_kernel(struct gemm_args g)
{
    extern __shared__ __align__(128) unsigned char memory[];
    struct desk *desk = (struct desk *)memory + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    size_t across = ((g.n - 1) / FN + 1), all = across * (((g.m - 1) / FM + 1));
    for (size_t tile = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; tile < all;
         tile += (size_t)gridDim.x * WARPS) {
        int m0 = (int)(tile / across) * FM, n0 = (int)(tile % across) * FN;
        wmma::fragment<wmma::accumulator, FM, FN, FK, float> c;
        wmma::fill_fragment(c, 0.0f);
        for (int k0 = (g.k - 1) / FK * FK; k0 >= 0; k0 -= FK) {
            __syncwarp();
            for (int i = lane; i < FM * FK; i += 32) {
                int m = m0 + i / FK, k = k0 + i % FK;
                desk->a[i] =
                    m < g.m && k < g.k ? ((const __half *)g.a)[(size_t)m * g.lda + k] : __float2half(0.0f);
            }
            for (int i = lane; i < FK * FN; i += 32) {
                int k = k0 + i / FN, n = n0 + i % FN;
                desk->b[i] =
                    n < g.n && k < g.k ? ((const __half *)g.b)[(size_t)k * g.ldb + n] : __float2half(0.0f);
            }
            __syncwarp();
            wmma::fragment<wmma::matrix_a, FM, FN, FK, half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, FM, FN, FK, half, wmma::row_major> b;
            wmma::load_matrix_sync(a, desk->a, FK);
            wmma::load_matrix_sync(b, desk->b, FN);
            wmma::mma_sync(c, a, b, c);
        }
        wmma::store_matrix_sync(desk->c, c, FN, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < FM * FN; i += 32)
            if (m0 + i / FN < g.m && n0 + i % FN < g.n)
                ((float *)g.c)[(size_t)(m0 + i / FN) * g.ldc + n0 + i % FN] = desk->c[i];
    }
}
enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t s)
{
    enum kernel_status st = gemm_args_check_plain(args);
    if (st != KERNEL_OK) return st;
    size_t bytes = WARPS * sizeof(struct desk);
    if (cudaFuncSetAttribute(walk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) !=
        cudaSuccess) {
        cudaGetLastError();
        return KERNEL_CUDA_ERROR;
    }
    walk_kernel<<<5, WARPS * 32, bytes, s>>>(*args);
    return launched();
}

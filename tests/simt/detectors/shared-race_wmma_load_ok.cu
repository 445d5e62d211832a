// expect: none
/** The lanes of a warp load a tile they wrote, after __syncwarp. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

static __global__ void product_kernel(const half *in, float *out)
{
    __shared__ __align__(32) half tile[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(b, in, 16);
    for (int i = (int)threadIdx.x; i < 256; i += 32) tile[i] = in[i];
    __syncwarp(); /* the tile is whole */
    wmma::load_matrix_sync(a, tile, 16);
    wmma::mma_sync(sum, a, b, sum);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

int main(void)
{
    static half host[1024];
    half *in = upload(host, 1024);
    float *out = device_array<float>(1024);
    product_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

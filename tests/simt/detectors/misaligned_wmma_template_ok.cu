// expect: none
/** A shared array of a template begins where a tile may begin, as it does on hardware. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int COLUMNS> static __global__ void product_kernel(const half *in, float *out)
{
    __shared__ half tile[16][COLUMNS];
    for (int i = threadIdx.x; i < 16 * COLUMNS; i += 32) tile[i / COLUMNS][i % COLUMNS] = in[i];
    __syncwarp(); /* the tile is complete */
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(a, &tile[0][0], COLUMNS);
    wmma::load_matrix_sync(b, &tile[0][0], COLUMNS);
    wmma::mma_sync(sum, a, b, sum);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

int main(void)
{
    static half host[16 * 24];
    half *in = upload(host, 16 * 24);
    float *out = device_array<float>(256);
    product_kernel<16><<<1, 32>>>(in, out);
    product_kernel<24><<<1, 32>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

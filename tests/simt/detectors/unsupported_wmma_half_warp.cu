// expect: unsupported at line 16
/** A block of 48 threads: its second warp has too few lanes for a product. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

static __global__ void product_kernel(const half *in, float *out)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(a, in, 16); // here
    wmma::load_matrix_sync(b, in, 16);
    wmma::mma_sync(sum, a, b, sum);
    if (threadIdx.x < 32) wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

int main(void)
{
    static half host[1024];
    half *in = upload(host, 1024);
    float *out = device_array<float>(1024);
    product_kernel<<<1, 48>>>(in, out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(in);
    abandon(out);
    return 0;
}

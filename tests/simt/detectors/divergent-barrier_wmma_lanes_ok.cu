// expect: none
/** The lanes of a warp load one tile, those of another block another. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

static __global__ void product_kernel(const half *in, float *out)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::load_matrix_sync(a, in, (int)blockIdx.x == 1 ? 32 : 16);
    out[32 * blockIdx.x + threadIdx.x] = __half2float(a.x[0]);
}

int main(void)
{
    static half host[1024];
    half *in = upload(host, 1024);
    float *out = device_array<float>(1024);
    product_kernel<<<2, 32>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

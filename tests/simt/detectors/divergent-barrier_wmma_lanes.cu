// expect: divergent-barrier at line 14
// says: lanes bring different tiles, leading dimensions or kinds of fragment
/** One lane loads its part of a tile whose rows lie elsewhere than those of the other lanes. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

static __global__ void product_kernel(const half *in, float *out)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::load_matrix_sync(a, in, threadIdx.x == 4 ? 32 : 16); // here
    out[threadIdx.x] = __half2float(a.x[0]);
}

int main(void)
{
    static half host[1024];
    half *in = upload(host, 1024);
    float *out = device_array<float>(1024);
    product_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(in);
    abandon(out);
    return 0;
}

// expect: out-of-bounds at line 15
/** A fragment that lies in device memory, past the end of its array. */
#include "detecting.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;

static __global__ void fragment_kernel(sums *kept, float *out)
{
    const sums *own = kept + threadIdx.x;
    wmma::store_matrix_sync(out, *own, 16, wmma::mem_row_major); // here
}

int main(void)
{
    sums *kept = device_array<sums>(31);
    float *out = device_array<float>(256);
    cudaMemset(kept, 0, 31 * sizeof *kept);
    fragment_kernel<<<1, 32>>>(kept, out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(kept);
    abandon(out);
    return 0;
}

// expect: none
/** A barrier orders global memory among the threads of a block, too. */
#include "detecting.h"

static __global__ void exchange_kernel(int *values, int *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = (int)i;
    __syncthreads(); /* the other warp's values are there */
    out[i] = values[i ^ 32];
}

int main(void)
{
    int *values = device_array<int>(128), *out = device_array<int>(128);
    require(cudaMemset(values, 0, 128 * sizeof *values), "cudaMemset");
    exchange_kernel<<<2, 64>>>(values, out);
    expect_outcome(cudaSuccess);
    release(values);
    release(out);
    return 0;
}

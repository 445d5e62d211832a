// expect: none
/** One thread writes, all read. */
#include "detecting.h"

static __global__ void last_kernel(unsigned *out)
{
    __shared__ unsigned last;
    if (threadIdx.x == blockDim.x - 1) last = threadIdx.x;
    __syncthreads(); /* the value is there */
    out[threadIdx.x] = last;
}

int main(void)
{
    unsigned *out = device_array<unsigned>(64);
    last_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

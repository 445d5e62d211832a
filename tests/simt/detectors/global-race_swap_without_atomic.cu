// expect: global-race at lines 8, 9
/** The sum is read and, unless another thread has just changed it, replaced: but not by the thread that read it. */
#include "detecting.h"

static __global__ void sum_kernel(unsigned *sum, unsigned *seen)
{
    unsigned *const own = seen + blockIdx.x * blockDim.x + threadIdx.x;
    *own = *sum;       // here
    atomicAdd(sum, 1); // here
}

int main(void)
{
    unsigned *sum = device_array<unsigned>(1), *seen = device_array<unsigned>(64);
    require(cudaMemset(sum, 0, sizeof *sum), "cudaMemset");
    sum_kernel<<<64, 1>>>(sum, seen);
    expect_outcome(cudaSuccess);
    release(sum);
    release(seen);
    return 0;
}

// expect: divergent-barrier at line 7
/** The kernel ends at a barrier that half of a warp does not reach: nothing after it happens. */
#include "detecting.h"

static __global__ void half_kernel(int *x)
{
    if (threadIdx.x < 16) __syncthreads(); // here
    if (threadIdx.x < 16) x[threadIdx.x] = 1;
}

int main(void)
{
    int *x;
    require(cudaMallocManaged(&x, 32 * sizeof *x), "cudaMallocManaged");
    x[0] = 0;
    half_kernel<<<1, 32>>>(x);
    expect_outcome(cudaErrorLaunchTimeout);
    if (x[0] != 0) printf("the kernel went on after the barrier\n");
    abandon(x);
    return 0;
}

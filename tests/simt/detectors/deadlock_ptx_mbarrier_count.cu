// expect: deadlock at lines 12, 13
/** One thread arrives at an mbarrier that was initialised for two: the phase never ends. */
#include "detecting.h"
#include "../hopper.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ __align__(8) uint64_t full;
    const int i = (int)threadIdx.x;
    if (i == 0) mbarrier_init(&full, 2);
    __syncthreads();
    if (i == 0) mbarrier_arrive(&full); // here
    mbarrier_wait(&full, 0);            // here
    out[i] = i;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(out);
    return 0;
}

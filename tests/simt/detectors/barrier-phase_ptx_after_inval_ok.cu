// expect: none
/** It is initialised again first. */
#include "detecting.h"
#include "../hopper.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ __align__(8) uint64_t done[2];
    mbarrier_init(&done[1], 1);
    mbarrier_arrive(&done[1]);
    mbarrier_wait(&done[1], 0);
    out[0] = 1;
    mbarrier_inval(&done[1]);
    mbarrier_init(&done[1], 2);
    mbarrier_arrive(&done[1]);
}

int main(void)
{
    int *out = device_array<int>(1);
    ptx_kernel<<<1, 1>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

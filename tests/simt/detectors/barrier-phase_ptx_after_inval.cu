// expect: barrier-phase at line 14
/** An mbarrier is used after it was invalidated. */
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
    mbarrier_arrive(&done[1]); // here
}

int main(void)
{
    int *out = device_array<int>(1);
    ptx_kernel<<<1, 1>>>(out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(out);
    return 0;
}

// expect: deadlock
// says: 32 of the block's 64 threads have ended, and arrive no more
/** A warp waits for a second phase, but the warp that arrives has left its loop after the first. */
#include "detecting.h"

#include "../hopper.h"

static __global__ void wait_kernel(int phases)
{
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) mbarrier_init(&barrier, 32);
    __syncthreads();
    if (threadIdx.x < 32)
        mbarrier_arrive(&barrier);
    else
        for (int phase = 0; phase < phases; phase++) mbarrier_wait(&barrier, phase % 2);
}

int main(void)
{
    wait_kernel<<<1, 64>>>(2);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(NULL);
    return 0;
}

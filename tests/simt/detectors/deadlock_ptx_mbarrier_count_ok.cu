// expect: none
/** A thread of each warp does. */
#include "detecting.h"
#include "../hopper.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ __align__(8) uint64_t full;
    const int i = (int)threadIdx.x;
    if (i == 0) mbarrier_init(&full, 2);
    __syncthreads();
    if (i % 32 == 0) mbarrier_arrive(&full);
    mbarrier_wait(&full, 0);
    out[i] = i;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: shared-race at lines 13, 16
/** The first lane of each warp arrives for all of them, which may still be writing. */
#include "detecting.h"
#include "../hopper.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[64];
    __shared__ __align__(8) uint64_t full;
    const int i = (int)threadIdx.x;
    if (i == 0) mbarrier_init(&full, 2);
    __syncthreads();
    tile[i] = i; // here
    if (i % 32 == 0) mbarrier_arrive(&full);
    mbarrier_wait(&full, 0);
    out[i] = tile[i ^ 33]; // here
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

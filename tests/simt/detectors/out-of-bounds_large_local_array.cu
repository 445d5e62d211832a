// expect: out-of-bounds
/** A local array larger than a thread's stack, used at its far end only. */
#include "detecting.h"

static __global__ void local_kernel(int *out, int n)
{
    volatile int local[64 * 1024];
    local[n] = 1;
    out[threadIdx.x] = local[n];
}

int main(void)
{
    int *out = device_array<int>(64);
    local_kernel<<<1, 64>>>(out, 0);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

// expect: out-of-bounds
/** Recursion without an end uses up the thread's stack. */
#include "detecting.h"

static __device__ __noinline__ int depth(int n)
{
    volatile int frame[64];
    frame[n % 64] = n;
    return depth(n + 1) + frame[n % 64];
}

static __global__ void recursive_kernel(int *out)
{
    out[threadIdx.x] = depth((int)threadIdx.x);
}

int main(void)
{
    int *out = device_array<int>(1);
    recursive_kernel<<<1, 1>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

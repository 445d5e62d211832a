// expect: none
/** Recursion and local arrays of a sensible size. */
#include "detecting.h"

static __device__ __noinline__ int depth(int n)
{
    volatile int frame[64];
    frame[n % 64] = n;
    return n == 0 ? 0 : depth(n - 1) + frame[n % 64];
}

static __global__ void recursive_kernel(int *out)
{
    out[threadIdx.x] = depth(20 + (int)threadIdx.x);
}

int main(void)
{
    int *out = device_array<int>(64);
    recursive_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: global-race at lines 10, 12
/** A managed variable is watched like the memory of an array: a block reads what another one writes. */
#include "detecting.h"

static __device__ __managed__ int flags[64] = {1};

static __global__ void passing_kernel(int *out)
{
    if (blockIdx.x == 0)
        flags[threadIdx.x] = 2; // here
    else
        out[threadIdx.x] = flags[threadIdx.x]; // here
}

int main(void)
{
    int *out = device_array<int>(64);
    passing_kernel<<<2, 64>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}

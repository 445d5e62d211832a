// expect: divergent-barrier at line 8
/** Half of a warp waits at a barrier that the other half never reaches. */
#include "detecting.h"

static __global__ void half_kernel(int *out)
{
    if (threadIdx.x < 16) {
        __syncthreads(); // here
    }
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *out = device_array<int>(32);
    half_kernel<<<1, 32>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}

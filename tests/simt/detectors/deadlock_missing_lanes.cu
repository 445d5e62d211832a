// expect: deadlock at line 8
/** A shuffle waits for 32 lanes, and 16 of them are elsewhere: at a barrier that waits for the first 16. */
#include "detecting.h"

static __global__ void shuffle_kernel(int *out)
{
    int value = (int)threadIdx.x;
    if (threadIdx.x < 16) value = __shfl_xor_sync(0xffffffffu, value, 1); // here
    __syncthreads();
    out[threadIdx.x] = value;
}

int main(void)
{
    int *out = device_array<int>(32);
    shuffle_kernel<<<1, 32>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}

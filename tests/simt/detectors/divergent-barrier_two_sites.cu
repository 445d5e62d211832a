// expect: divergent-barrier at lines 10, 13
/** The two branches have a barrier each: they are not the same barrier. */
#include "detecting.h"

static __global__ void branches_kernel(int *out)
{
    __shared__ int values[64];
    values[threadIdx.x] = (int)threadIdx.x;
    if (threadIdx.x < 32) {
        __syncthreads(); // here
        out[threadIdx.x] = values[threadIdx.x + 32];
    } else {
        __syncthreads(); // here
        out[threadIdx.x] = values[threadIdx.x - 32];
    }
}

int main(void)
{
    int *out = device_array<int>(64);
    branches_kernel<<<1, 64>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}

// expect: shared-race at lines 8, 10
/** A shuffle moves values between lanes, but promises nothing about their shared memory. */
#include "detecting.h"

static __global__ void reverse_kernel(int *out)
{
    __shared__ int values[32];
    values[threadIdx.x] = (int)threadIdx.x; // here
    const int first = __shfl_sync(0xffffffffu, (int)threadIdx.x, 0);
    out[threadIdx.x] = first + values[31 - threadIdx.x]; // here
}

int main(void)
{
    int *out = device_array<int>(32);
    reverse_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

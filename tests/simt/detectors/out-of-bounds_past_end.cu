// expect: out-of-bounds at line 7
/** The tail of a grid is not guarded: thread 100 writes element 100 of 100. */
#include "detecting.h"

static __global__ void fill_kernel(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; // here
}

int main(void)
{
    float *data = device_array<float>(100);
    fill_kernel<<<4, 32>>>(data);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(data);
    return 0;
}

// expect: none
/** The same with its guard. */
#include "detecting.h"

static __global__ void fill_kernel(float *data, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = 1.0f;
}

int main(void)
{
    float *data = device_array<float>(100);
    fill_kernel<<<4, 32>>>(data, 100);
    expect_outcome(cudaSuccess);
    release(data);
    return 0;
}

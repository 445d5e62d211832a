// expect: out-of-bounds at line 7
/** The index runs over the end of one array into the next one, which is alive. */
#include "detecting.h"

static __global__ void fill_kernel(float *data, int distance)
{
    data[distance + (int)threadIdx.x] = 2.0f; // here
}

int main(void)
{
    float *first = device_array<float>(64), *second = device_array<float>(64);
    fill_kernel<<<1, 32>>>(first, 64);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(first);
    abandon(second);
    return 0;
}

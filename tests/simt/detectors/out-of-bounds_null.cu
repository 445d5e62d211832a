// expect: out-of-bounds at line 7
/** A pointer that was never set. */
#include "detecting.h"

static __global__ void fill_kernel(float *data)
{
    data[threadIdx.x] = 1.0f; // here
}

int main(void)
{
    float *data = NULL;
    fill_kernel<<<1, 32>>>(data);
    expect_outcome(cudaErrorIllegalAddress);
    return 0;
}

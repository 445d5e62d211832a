// expect: global-race at line 8
// says: is the same element computed twice, by two blocks
/** Two blocks write their own value to the same element. */
#include "detecting.h"

static __global__ void write_kernel(float *out)
{
    out[threadIdx.x] = (float)blockIdx.x; // here
}

int main(void)
{
    float *out = device_array<float>(32);
    write_kernel<<<2, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

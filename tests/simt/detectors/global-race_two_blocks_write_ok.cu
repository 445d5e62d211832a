// expect: none
/** Each block has its own elements; a second launch may write what the first one wrote. */
#include "detecting.h"

static __global__ void write_kernel(float *out)
{
    out[blockIdx.x * 32 + threadIdx.x] = (float)blockIdx.x;
}

int main(void)
{
    float *out = device_array<float>(64);
    write_kernel<<<2, 32>>>(out);
    write_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

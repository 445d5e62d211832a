// expect: uninitialized-read at line 8
/** One mistake that a million reads make is one finding. */
#include "detecting.h"

static __global__ void sum_kernel(const float *in, float *out)
{
    float sum = 0.0f;
    for (int i = 0; i < 128; i++) sum += in[i]; // here
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(void)
{
    float *in = device_array<float>(128), *out = device_array<float>(64 * 128);
    sum_kernel<<<64, 128>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

// expect: uninitialized-read at line 8
// says: kernel fill_kernel, launched later, writes what kernel scale_kernel has read
/** Two launches in the wrong order. */
#include "detecting.h"

static __global__ void scale_kernel(const float *in, float *out)
{
    out[threadIdx.x] = 2.0f * in[threadIdx.x]; // here
}

static __global__ void fill_kernel(float *out)
{
    out[threadIdx.x] = 1.0f;
}

int main(void)
{
    float *first = device_array<float>(32), *second = device_array<float>(32);
    scale_kernel<<<1, 32>>>(first, second);
    fill_kernel<<<1, 32>>>(first);
    expect_outcome(cudaSuccess);
    release(first);
    release(second);
    return 0;
}

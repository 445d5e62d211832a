// expect: none
/** The thread's own variables, wherever it keeps them and whether or not they were written, and an element that was. */
#include "detecting.h"

static __device__ __noinline__ void fence(float &x)
{
    asm volatile("" : "+f"(x) : : "memory");
}

static __global__ void fence_kernel(float *values, int far)
{
    float own[4], kept[4];
    for (int i = 0; i < 4; i++) asm volatile("" : "+f"(own[i]));
    fence(kept[far & 3]);
    values[far] = 1.0f;
    asm volatile("" : "+f"(values[far]) : : "memory");
}

int main(void)
{
    float *values = device_array<float>(32);
    fence_kernel<<<1, 1>>>(values, 31);
    expect_outcome(cudaSuccess);
    release(values);
    return 0;
}

// expect: out-of-bounds at line 8
/** An empty asm statement's operand past the end of an array: nvcc loads it into a register, and stores it back. */
#include "detecting.h"

static __global__ void fence_kernel(float *values, int far)
{
    values[far & 31] = 1.0f;
    asm volatile("" : "+f"(values[far]) : : "memory"); // here
}

int main(void)
{
    float *values = device_array<float>(32);
    fence_kernel<<<1, 1>>>(values, 32);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(values);
    return 0;
}

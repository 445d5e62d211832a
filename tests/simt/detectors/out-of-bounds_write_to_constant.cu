// expect: out-of-bounds at line 10
/** Constant memory can only be written by the host. */
#include "detecting.h"

static __constant__ float factors[4] = {1.0f, 2.0f, 3.0f, 4.0f};

static __global__ void change_kernel(float *out, int where)
{
    const float *first = &factors[where];
    *const_cast<float *>(first) = 5.0f; // here
    out[0] = factors[0];
}

int main(void)
{
    float *out = device_array<float>(1);
    change_kernel<<<1, 1>>>(out, 0);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

// expect: use-after-free at line 7
/** The workspace is freed before the kernel that uses it is launched. */
#include "detecting.h"

static __global__ void fill_kernel(float *workspace, float *out)
{
    workspace[threadIdx.x] = 1.0f; // here
    out[threadIdx.x] = 1.0f;
}

int main(void)
{
    float *workspace = device_array<float>(32), *out = device_array<float>(32);
    release(workspace);
    fill_kernel<<<1, 32>>>(workspace, out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

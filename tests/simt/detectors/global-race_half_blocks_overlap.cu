// expect: global-race at line 9
/** Each block writes one element too many, its neighbour's first: the bug of a grid stride that is one short.
 */
#include "detecting.h"

static __global__ void fill_kernel(float *out, int n)
{
    const int i = (int)(blockIdx.x * (blockDim.x - 1) + threadIdx.x);
    if (i < n) out[i] = (float)threadIdx.x; // here
}

int main(void)
{
    float *out = device_array<float>(125);
    fill_kernel<<<4, 32>>>(out, 125);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: uninitialized-read at line 15
/** The kernel writes 96 of 100 results and the host fetches all of them. */
#include "detecting.h"

static __global__ void fill_kernel(float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

int main(void)
{
    float host[100], *out = device_array<float>(100);
    fill_kernel<<<100 / 32, 32>>>(out);
    expect_outcome(cudaSuccess);
    require(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy"); // here
    release(out);
    return 0;
}

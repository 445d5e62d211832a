// expect: none
/** All results are written before they are fetched. */
#include "detecting.h"

static __global__ void fill_kernel(float *out, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1.0f;
}

int main(void)
{
    float host[100], *out = device_array<float>(100);
    fill_kernel<<<(100 + 31) / 32, 32>>>(out, 100);
    expect_outcome(cudaSuccess);
    require(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy");
    release(out);
    return 0;
}

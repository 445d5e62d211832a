// expect: none
/** All lanes of a warp write the warp's sum to one place: told only with SIMT_REPORT=all. */
#include "detecting.h"

static __global__ void sum_kernel(const float *in, float *out)
{
    __shared__ float parts[2];
    float sum = in[threadIdx.x];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    parts[threadIdx.x / 32] = sum;
    __syncthreads(); /* both sums are there */
    if (threadIdx.x == 0) out[0] = parts[0] + parts[1];
}

int main(void)
{
    float host[64];
    for (int i = 0; i < 64; i++) host[i] = (float)i;
    float *in = upload(host, 64), *out = device_array<float>(1);
    sum_kernel<<<1, 64>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

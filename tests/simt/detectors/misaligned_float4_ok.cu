// expect: none
/** The same load at multiples of 16, and single floats anywhere. */
#include "detecting.h"

static __global__ void load_kernel(const float *in, float *out)
{
    const float4 v = *reinterpret_cast<const float4 *>(in + 4 + 4 * threadIdx.x);
    out[threadIdx.x] = v.x + v.y + v.z + v.w + in[threadIdx.x * 3 + 1];
}

int main(void)
{
    const float host[64] = {1.0f};
    float *in = upload(host, 64), *out = device_array<float>(8);
    load_kernel<<<1, 8>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

// expect: misaligned at line 7
/** A float4 is loaded from an address that is a multiple of 4 only. */
#include "detecting.h"

static __global__ void load_kernel(const float *in, float *out)
{
    const float4 v = *reinterpret_cast<const float4 *>(in + 1 + 4 * threadIdx.x); // here
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

int main(void)
{
    const float host[64] = {1.0f};
    float *in = upload(host, 64), *out = device_array<float>(8);
    load_kernel<<<1, 8>>>(in, out);
    expect_outcome(cudaErrorMisalignedAddress);
    abandon(in);
    abandon(out);
    return 0;
}

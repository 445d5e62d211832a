// expect: out-of-bounds at line 8
/** A stencil reads its left neighbour, and the first thread has none. */
#include "detecting.h"

static __global__ void difference_kernel(const float *in, float *out)
{
    const int i = (int)threadIdx.x;
    out[i] = in[i] - in[i - 1]; // here
}

int main(void)
{
    const float host[64] = {1.0f};
    float *in = upload(host, 64), *out = device_array<float>(64);
    difference_kernel<<<1, 64>>>(in, out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(in);
    abandon(out);
    return 0;
}

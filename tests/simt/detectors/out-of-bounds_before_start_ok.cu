// expect: none
/** The first thread has no left neighbour and takes zero; a pointer into the middle may be indexed by -1. */
#include "detecting.h"

static __global__ void difference_kernel(const float *in, float *out)
{
    const int i = (int)threadIdx.x;
    out[i] = in[i] - (i > 0 ? in[i - 1] : 0.0f);
}

int main(void)
{
    const float host[64] = {1.0f};
    float *in = upload(host, 64), *out = device_array<float>(64);
    difference_kernel<<<1, 64>>>(in, out);
    difference_kernel<<<1, 32>>>(in + 32, out + 32);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

// expect: none
/** The helper of the header within bounds. */
#include "detecting.h"

static __global__ void shift_kernel(const float *in, float *out, int n)
{
    const int i = (int)threadIdx.x;
    float sum = 0.0f;
    if (i < n) sum += element(in, i);
    if (i + 1 < n) sum += element(in, i + 1);
    out[i] = sum;
}

int main(void)
{
    const float host[32] = {1.0f};
    float *in = upload(host, 32), *out = device_array<float>(32);
    shift_kernel<<<1, 32>>>(in, out, 32);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

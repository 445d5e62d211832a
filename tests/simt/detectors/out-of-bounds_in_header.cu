// expect: out-of-bounds at line 10
/** A helper of a header makes the access; the line to mend is the one that passes the index. */
#include "detecting.h"

static __global__ void shift_kernel(const float *in, float *out, int n)
{
    const int i = (int)threadIdx.x;
    float sum = 0.0f;
    if (i < n) sum += element(in, i);
    if (i < n) sum += element(in, i + 1); // here
    out[i] = sum;
}

int main(void)
{
    const float host[32] = {1.0f};
    float *in = upload(host, 32), *out = device_array<float>(32);
    shift_kernel<<<1, 32>>>(in, out, 32);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(in);
    abandon(out);
    return 0;
}

// expect: out-of-bounds at line 10
// says: beyond the end of a local array
/** Writes far beyond a local array, where return addresses lie. */
#include "detecting.h"

static __global__ void scatter_kernel(const int *at, float *out)
{
    float mine[16];
    for (int i = 0; i < 16; i++) mine[i] = 0.0f;
    for (int i = 0; i < 3; i++) mine[at[i]] = 1.0f; // here
    float sum = 0.0f;
    for (int i = 0; i < 16; i++) sum += mine[i];
    out[threadIdx.x] = sum;
}

int main(void)
{
    const int places[3] = {15, 40, 160};
    int *at = upload(places, 3);
    float *out = device_array<float>(32);
    scatter_kernel<<<1, 32>>>(at, out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(at);
    return 0;
}

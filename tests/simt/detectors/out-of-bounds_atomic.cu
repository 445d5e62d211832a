// expect: out-of-bounds at line 7
/** An atomic is an access like any other: the last bin does not exist. */
#include "detecting.h"

static __global__ void histogram_kernel(const int *in, int *bins)
{
    atomicAdd(&bins[in[threadIdx.x]], 1); // here
}

int main(void)
{
    int host[32];
    for (int i = 0; i < 32; i++) host[i] = i / 2;
    int *in = upload(host, 32), *bins = device_array<int>(15);
    require(cudaMemset(bins, 0, 15 * sizeof *bins), "cudaMemset");
    histogram_kernel<<<1, 32>>>(in, bins);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(in);
    abandon(bins);
    return 0;
}

// expect: global-race at lines 7, 8
/** Threads of one block exchange values through global memory without a barrier. */
#include "detecting.h"

static __global__ void exchange_kernel(int *values, int *out)
{
    values[threadIdx.x] = (int)threadIdx.x;      // here
    out[threadIdx.x] = values[threadIdx.x ^ 32]; // here
}

int main(void)
{
    int *values = device_array<int>(64), *out = device_array<int>(64);
    require(cudaMemset(values, 0, 64 * sizeof *values), "cudaMemset");
    exchange_kernel<<<1, 64>>>(values, out);
    expect_outcome(cudaSuccess);
    release(values);
    release(out);
    return 0;
}

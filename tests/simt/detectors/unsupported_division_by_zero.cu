// expect: unsupported at line 14
/** Integers are divided by zero in the second block, while the first one takes long: the fault comes in a thread of the pool. */
#include "detecting.h"

static __global__ void divide_kernel(const int *by, int *out)
{
    int sum = 0;
    if (blockIdx.x == 0)
        for (int i = 0; i < 200000; i++) {
            out[threadIdx.x] = i;
            sum += out[threadIdx.x];
        }
    else
        sum = 100 / by[threadIdx.x]; // here
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}

int main(void)
{
    int *by = device_array<int>(32), *out = device_array<int>(64);
    require(cudaMemset(by, 0, 32 * sizeof *by), "cudaMemset");
    divide_kernel<<<2, 32>>>(by, out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(by);
    abandon(out);
    return 0;
}

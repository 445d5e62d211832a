// expect: none
/** Integers are divided by what is not zero. */
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
        sum = 100 / by[threadIdx.x];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}

int main(void)
{
    int *by = device_array<int>(32), *out = device_array<int>(64);
    require(cudaMemset(by, 1, 32 * sizeof *by), "cudaMemset");
    divide_kernel<<<2, 32>>>(by, out);
    expect_outcome(cudaSuccess);
    release(by);
    release(out);
    return 0;
}

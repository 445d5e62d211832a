// expect: none
/** Cleared, copied within the device, or written by an earlier launch: all of that counts as written. */
#include "detecting.h"

static __global__ void accumulate_kernel(float *sums)
{
    sums[threadIdx.x] += 1.0f;
}

static __global__ void fill_kernel(float *sums)
{
    sums[threadIdx.x] = 1.0f;
}

int main(void)
{
    float *first = device_array<float>(32), *second = device_array<float>(32),
          *third = device_array<float>(32);
    require(cudaMemset(first, 0, 32 * sizeof *first), "cudaMemset");
    accumulate_kernel<<<1, 32>>>(first);
    require(cudaMemcpy(second, first, 32 * sizeof *first, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    accumulate_kernel<<<1, 32>>>(second);
    fill_kernel<<<1, 32>>>(third);
    accumulate_kernel<<<1, 32>>>(third);
    expect_outcome(cudaSuccess);
    release(first);
    release(second);
    release(third);
    return 0;
}

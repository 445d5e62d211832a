// expect: none
/** The same, and nothing is amiss. */
#include "detecting.h"

static __global__ void checking_kernel(const int *values)
{
    if (values[threadIdx.x] < 0) __trap();
}

int main(void)
{
    int *values = device_array<int>(32);
    require(cudaMemset(values, 0, 32 * sizeof *values), "cudaMemset");
    checking_kernel<<<1, 32>>>(values);
    finish_launch("checking_kernel");
    release(values);
    return 0;
}

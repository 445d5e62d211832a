// expect: trap at line 7
/** A kernel that gives up, as many do where they find something amiss. */
#include "detecting.h"

static __global__ void checking_kernel(const int *values)
{
    if (values[threadIdx.x] < 0) __trap(); // here
}

int main(void)
{
    int *values = device_array<int>(32);
    const int wrong = -1;
    require(cudaMemset(values, 0, 32 * sizeof *values), "cudaMemset");
    require(cudaMemcpy(values + 5, &wrong, sizeof wrong, cudaMemcpyHostToDevice), "cudaMemcpy");
    checking_kernel<<<1, 32>>>(values);
    (void)cudaDeviceSynchronize();
    abandon(values);
    return 0;
}

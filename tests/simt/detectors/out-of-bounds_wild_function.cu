// expect: out-of-bounds at line 12
// says: leads to no function
/** Calls what an integer says, where nothing is. */
#include "detecting.h"

typedef int (*step_function)(int);
static __device__ int next(int x) { return x + 1; }

static __global__ void call_kernel(int *x, int which)
{
    const step_function steps[2] = {next, (step_function)0x12345678};
    x[threadIdx.x] = steps[which](x[threadIdx.x]); // here
}

int main(void)
{
    int *x = device_array<int>(32);
    require(cudaMemset(x, 0, 32 * sizeof *x), "cudaMemset");
    call_kernel<<<1, 32>>>(x, 1);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(x);
    return 0;
}

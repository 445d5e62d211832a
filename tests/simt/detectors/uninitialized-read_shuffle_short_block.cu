// expect: uninitialized-read at line 9
// says: reads lane 20, which does not exist
/** The largest of 20 values, by a reduction that is right for 32. */
#include "detecting.h"

static __global__ void largest_kernel(const int *x, int *out)
{
    int v = x[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(0xffffffff, v, step)); // here
    if (threadIdx.x == 0) out[0] = v;
}

int main(void)
{
    int *x = device_array<int>(20), *out = device_array<int>(1);
    require(cudaMemset(x, 0, 20 * sizeof *x), "cudaMemset");
    largest_kernel<<<1, 20>>>(x, out);
    expect_outcome(cudaSuccess);
    release(x);
    release(out);
    return 0;
}

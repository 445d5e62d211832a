// expect: uninitialized-read at line 9
// says: reads lane 24, which does not exist
/** A sum of 24 ones that is only compared with 24: wrong with any value of absent lanes, but 0. */
#include "detecting.h"

static __global__ void sum_kernel(int *out)
{
    int v = 1;
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffff, v, step); // here
    if (threadIdx.x == 0) out[0] = v == 24;
}

int main(void)
{
    int *out = device_array<int>(1);
    sum_kernel<<<1, 24>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

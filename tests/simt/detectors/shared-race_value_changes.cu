// expect: shared-race at line 9
/** Most threads write what is there already, and one does not: which value stays is chance. */
#include "detecting.h"

static __global__ void flag_kernel(unsigned *out)
{
    __shared__ unsigned flag;
    const unsigned value = threadIdx.x == 40 ? 2 : 1;
    flag = value;    // here
    __syncthreads(); /* all have written */
    out[threadIdx.x] = flag;
}

int main(void)
{
    unsigned *out = device_array<unsigned>(64);
    flag_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: shared-race at line 8
/** Every thread writes its own value to one place; which one stays is chance. */
#include "detecting.h"

static __global__ void last_kernel(unsigned *out)
{
    __shared__ unsigned last;
    last = threadIdx.x; // here
    __syncthreads();    /* all have written */
    out[threadIdx.x] = last;
}

int main(void)
{
    unsigned *out = device_array<unsigned>(64);
    last_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: shared-race at line 9
// says: last[0]
/** All threads store to one word that nobody reads, so that an optimising compiler could leave the stores out. */
#include "detecting.h"

static __global__ void store_kernel(void)
{
    __shared__ unsigned last[8];
    last[0] = threadIdx.x; // here
}

int main(void)
{
    store_kernel<<<1, 64>>>();
    expect_outcome(cudaSuccess);
    return 0;
}

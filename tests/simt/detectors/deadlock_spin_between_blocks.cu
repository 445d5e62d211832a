// expect: deadlock at line 9
/** Blocks wait in a loop until all have come: that works only if all run at the same time, and no GPU holds so
 * many. */
#include "detecting.h"

static __global__ void wait_kernel(int *arrived, int *out)
{
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < (int)gridDim.x) continue; // here
    out[blockIdx.x] = 1;
}

int main(void)
{
    enum { BLOCKS = 100000 };
    int *arrived = device_array<int>(1), *out = device_array<int>(BLOCKS);
    require(cudaMemset(arrived, 0, sizeof *arrived), "cudaMemset");
    wait_kernel<<<BLOCKS, 1>>>(arrived, out);
    (void)cudaDeviceSynchronize();
    abandon(arrived);
    abandon(out);
    return 0;
}

// expect: none
/** Atomic additions of many blocks to one total. */
#include "detecting.h"

static __global__ void count_kernel(int *total)
{
    if (threadIdx.x == 0) atomicAdd(total, 1);
}

int main(void)
{
    int *total = device_array<int>(1), got;
    require(cudaMemset(total, 0, sizeof *total), "cudaMemset");
    count_kernel<<<8, 32>>>(total);
    expect_outcome(cudaSuccess);
    download(&got, total, 1);
    if (got != 8) printf("the total is %d\n", got);
    release(total);
    return 0;
}

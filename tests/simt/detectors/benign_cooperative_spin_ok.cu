// expect: none
/** Each block of a cooperative launch waits, by atomics, until all have come: they all run at the same time. */
#include "detecting.h"

#include <cooperative_groups.h>

enum { BLOCKS = 80, ROUNDS = 3 };

static __global__ void wait_kernel(int *arrived, int *out)
{
    for (int round = 1; round <= ROUNDS; round++) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < round * (int)gridDim.x) continue;
        __threadfence();
        if (round % 2 == 0) continue;
        out[blockIdx.x] += round * (int)(gridDim.x + blockIdx.x);
    }
}

int main(void)
{
    int *arrived = device_array<int>(1), *out = device_array<int>(BLOCKS), got[BLOCKS];
    require(cudaMemset(arrived, 0, sizeof *arrived), "cudaMemset");
    require(cudaMemset(out, 0, sizeof got), "cudaMemset");
    void *arguments[] = {&arrived, &out};
    require(cudaLaunchCooperativeKernel(wait_kernel, dim3(BLOCKS), dim3(1), arguments),
            "cudaLaunchCooperativeKernel");
    expect_outcome(cudaSuccess);
    download(got, out, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        if (got[i] != 4 * (BLOCKS + i)) printf("block %d has %d\n", i, got[i]);
    cudaFree(arrived);
    cudaFree(out);
    return 0;
}

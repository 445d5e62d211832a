// expect: unsupported at line 10
/** Each block of a cooperative launch waits until all have come: right on hardware, and more than this device does. */
#include "detecting.h"

#include <cooperative_groups.h>

static __global__ void wait_kernel(int *arrived, int *out)
{
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < (int)gridDim.x) continue; // here
    out[blockIdx.x] = 1;
}

int main(void)
{
    int *arrived = device_array<int>(1), *out = device_array<int>(2);
    require(cudaMemset(arrived, 0, sizeof *arrived), "cudaMemset");
    void *arguments[] = {&arrived, &out};
    require(cudaLaunchCooperativeKernel(wait_kernel, dim3(2), dim3(1), arguments),
            "cudaLaunchCooperativeKernel");
    (void)cudaDeviceSynchronize();
    abandon(arrived);
    abandon(out);
    return 0;
}

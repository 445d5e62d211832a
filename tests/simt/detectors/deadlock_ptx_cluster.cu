// expect: deadlock at lines 12, 14
/** Half of the threads never arrive: they wait at another barrier. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int words[64];
    const int i = (int)threadIdx.x;
    words[i] = i;
    if (i < 32) {
        asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
        asm volatile("barrier.cluster.wait.aligned;" : : : "memory"); // here
    }
    __syncthreads(); // here
    out[i] = words[63 - i];
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(out);
    return 0;
}

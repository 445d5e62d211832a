// expect: none
/** Managed and pinned memory is the host's and the kernels': neither needs a copy. */
#include "detecting.h"

static __global__ void add_kernel(int *managed, int *pinned) /* [32], [32] */
{
    managed[threadIdx.x] += pinned[threadIdx.x];
    pinned[threadIdx.x] = 0;
}

int main(void)
{
    int *managed, *pinned, *mapped;
    require(cudaMallocManaged(&managed, 32 * sizeof *managed), "cudaMallocManaged");
    require(cudaHostAlloc(&pinned, 32 * sizeof *pinned, cudaHostAllocMapped), "cudaHostAlloc");
    require(cudaHostGetDevicePointer(&mapped, pinned, 0), "cudaHostGetDevicePointer");
    for (int i = 0; i < 32; i++) managed[i] = i, pinned[i] = 100;
    add_kernel<<<1, 32>>>(managed, mapped);
    expect_outcome(cudaSuccess);
    for (int i = 0; i < 32; i++)
        if (managed[i] != 100 + i || pinned[i] != 0) printf("element %d is %d\n", i, managed[i]);
    release(managed);
    require(cudaFreeHost(pinned), "cudaFreeHost");
    return 0;
}

// expect: none
/**
 * Three phases of the cluster's barrier per launch: what threads knew by the last
 * launch's third phase says nothing about this one's first.
 */
#include "detecting.h"

static __device__ void cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
    asm volatile("barrier.cluster.wait.aligned;" : : : "memory");
}

static __global__ void __cluster_dims__(2) phases_kernel(int *out)
{
    __shared__ int word;
    if (threadIdx.x == 0) word = 1;
    cluster_barrier();
    out[blockIdx.x * blockDim.x + threadIdx.x] = word;
    cluster_barrier();
    cluster_barrier();
}

int main(void)
{
    int *out = device_array<int>(128);
    for (int launch = 0; launch < 3; launch++) phases_kernel<<<2, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

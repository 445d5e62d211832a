/** Counters of shared memory of another block, which count with SIMT_TRAFFIC=all. */
#include <cooperative_groups.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __global__ void __cluster_dims__(2) distant_kernel(float *out)
{
    __shared__ float own[1024];
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    for (unsigned i = threadIdx.x; i < 1024; i += 32) own[i] = 1.0f;
    cluster.sync();
    const float *other = cluster.map_shared_rank(own, cluster.block_rank() ^ 1);
    const float sum = other[threadIdx.x] + other[32 * threadIdx.x];
    cluster.sync();
    out[32 * blockIdx.x + threadIdx.x] = sum;
}

int main(int, char **argv)
{
    float *out = NULL;
    if (getenv("SIMT_TRAFFIC") == NULL) {
        setenv("SIMT_TRAFFIC", "all", 1);
        execv("/proc/self/exe", argv);
    }
    cudaMalloc(&out, 64 * sizeof *out);
    distant_kernel<<<2, 32>>>(out);
    const cudaError_t error = cudaDeviceSynchronize();
    cudaFree(out);
    return error != cudaSuccess;
}

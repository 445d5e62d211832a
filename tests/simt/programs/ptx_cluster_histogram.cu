/**
 * Thread block clusters: a histogram whose bins lie in the shared memory of all blocks of a cluster, each block with a part of them.
 * What a block reads it adds to the bins of whichever block has them, by atomics on distributed shared memory; at the end each
 * block adds its bins to those in global memory. Clusters of 1 to 16 blocks, launched with an attribute.
 */
#include "../testing.h"

#include <cooperative_groups.h>
#include <stdint.h>

namespace cg = cooperative_groups;

enum { BINS = 1000, THREADS = 128, VALUES = 100003 };

static __global__ void histogram_kernel(const uint32_t *values, int count, unsigned *bins)
{
    extern __shared__ unsigned own[];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank();
    const unsigned each = (BINS + blocks - 1) / blocks;
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x) own[i] = 0;
    cluster.sync(); /* all bins are zero, and all blocks have begun */
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += (int)(gridDim.x * blockDim.x)) {
        const unsigned bin = values[i] % BINS;
        unsigned *there = cluster.map_shared_rank(own, (int)(bin / each));
        atomicAdd(&there[bin % each], 1u);
    }
    cluster.sync(); /* nobody adds any more */
    for (unsigned i = threadIdx.x; i < each && rank * each + i < BINS; i += blockDim.x)
        atomicAdd(&bins[rank * each + i], own[i]);
}

static void run(const uint32_t *values, unsigned *bins, const unsigned *expected, unsigned blocks)
{
    static unsigned got[BINS];
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(3 * blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (BINS + blocks - 1) / blocks * sizeof(unsigned);
    config.attrs = &attribute;
    config.numAttrs = 1;
    require(cudaMemset(bins, 0, sizeof got), "cudaMemset");
    require(cudaLaunchKernelEx(&config, histogram_kernel, values, (int)VALUES, bins), "histogram_kernel");
    finish_launch("histogram_kernel");
    download(got, bins, BINS);
    for (size_t i = 0; i < BINS; i++) expect_equal("bin", i, got[i], expected[i]);
}

int main(void)
{
    static unsigned expected[BINS];
    uint32_t *host = host_array<uint32_t>(VALUES);
    for (uint32_t i = 0; i < VALUES; i++) {
        host[i] = (i * 2654435761u) >> 7;
        expected[host[i] % BINS]++;
    }
    uint32_t *values = upload(host, VALUES);
    unsigned *bins = device_array<unsigned>(BINS);
    require(cudaFuncSetAttribute(histogram_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "cudaFuncSetAttribute");
    for (unsigned blocks = 1; blocks <= 16; blocks *= 2) run(values, bins, expected, blocks);
    run(values, bins, expected, 3);
    printf("%u values in bin 0, %u in bin %d\n", expected[0], expected[BINS - 1], BINS - 1);
    release(values);
    release(bins);
    free(host);
    return finish("ptx_cluster_histogram");
}

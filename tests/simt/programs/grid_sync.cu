/**
 * A cooperative launch: the blocks pass values round with a barrier of the grid between the steps, and sum them up at the end.
 * Within a step there are atomics on one counter, whose results must not depend on the order of blocks.
 */
#include "../testing.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { BLOCKS = 70, THREADS = 64, STEPS = 5, COUNT = BLOCKS * THREADS };

static __global__ void pass_kernel(int *a, int *b, int *arrived, int *total,
                                   int steps) /* [COUNT] x 2, [STEPS], [1] */
{
    __shared__ int kept;
    cg::grid_group grid = cg::this_grid();
    const int i = (int)grid.thread_rank(), n = (int)grid.size();
    if (threadIdx.x == 0) kept = (int)blockIdx.x; /* shared memory lives on across the barrier */
    a[i] = i;
    grid.sync();
    for (int step = 0; step < steps; step++) {
        const int *from = step % 2 == 0 ? a : b;
        int *to = step % 2 == 0 ? b : a;
        to[i] = from[(i + THREADS + 1) % n] + kept - (int)blockIdx.x;
        if (threadIdx.x == 0) atomicAdd(&arrived[step], 1);
        grid.sync();
        if (arrived[step] != (int)gridDim.x) to[i] = -1;
    }
    if (i == 0) {
        const int *last = steps % 2 == 0 ? a : b;
        for (int k = 0; k < n; k++) *total += last[k] * (k % 7);
    }
}

static void run(int how)
{
    int *a = device_array<int>(COUNT), *b = device_array<int>(COUNT), *arrived = device_array<int>(STEPS),
        *total = device_array<int>(1);
    int steps = STEPS, sum = 0, expected = 0;
    void *arguments[] = {&a, &b, &arrived, &total, &steps};
    require(cudaMemset(arrived, 0, STEPS * sizeof *arrived), "cudaMemset");
    require(cudaMemset(total, 0, sizeof *total), "cudaMemset");
    if (how == 0) {
        require(
            cudaLaunchCooperativeKernel((void *)pass_kernel, dim3(BLOCKS), dim3(THREADS), arguments, 0, 0),
            "launch");
    } else if (how == 1) {
        require(cudaLaunchCooperativeKernel(pass_kernel, BLOCKS, THREADS, arguments), "launch");
    } else {
        cudaLaunchAttribute attribute = {};
        cudaLaunchConfig_t config = {};
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
        config.gridDim = BLOCKS;
        config.blockDim = THREADS;
        config.attrs = &attribute;
        config.numAttrs = 1;
        require(cudaLaunchKernelEx(&config, pass_kernel, a, b, arrived, total, steps), "launch");
    }
    finish_launch("pass_kernel");
    download(&sum, total, 1);
    for (int k = 0; k < COUNT; k++) expected += (k + STEPS * (THREADS + 1)) % COUNT * (k % 7);
    expect_equal("sum", (size_t)how, sum, expected);
    release(a);
    release(b);
    release(arrived);
    release(total);
}

int main(void)
{
    int supported = 0, per_multiprocessor = 0;
    cudaDeviceProp properties;
    require(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0), "cudaDeviceGetAttribute");
    expect_equal("supported", 0, supported, 1);
    for (int how = 0; how < 3; how++) run(how);
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, pass_kernel, THREADS, 0),
            "occupancy");
    int *nothing = NULL, none = 0;
    void *arguments[] = {&nothing, &nothing, &nothing, &nothing, &none};
    const int blocks = per_multiprocessor * properties.multiProcessorCount + 1;
    expect_equal("one block too many", 0,
                 cudaLaunchCooperativeKernel(pass_kernel, blocks, THREADS, arguments),
                 cudaErrorCooperativeLaunchTooLarge);
    (void)cudaGetLastError();
    return finish("grid_sync");
}

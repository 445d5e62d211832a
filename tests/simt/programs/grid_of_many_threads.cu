/**
 * A cooperative launch of as many threads as many a GPU holds at once. While all of them wait at a barrier of the grid,
 * there must be memory for what the blocks do next.
 */
#include "../testing.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { BLOCKS = 34, THREADS = 1024, ALL = BLOCKS * THREADS, COUNT = 16 * ALL };

static __global__ void many_kernel(const int *from, int *to) /* [COUNT] each */
{
    cg::grid_group grid = cg::this_grid();
    const int first = (int)grid.thread_rank();
    grid.sync();
    for (int i = first; i < COUNT; i += ALL) to[i] = from[i];
    grid.sync();
    const int other = to[ALL - 1 - first];
    grid.sync();
    to[first] = other + 1;
}

int main(void)
{
    int *from = device_array<int>(COUNT), *to = device_array<int>(COUNT), *host = host_array<int>(COUNT);
    void *arguments[] = {&from, &to};
    for (int i = 0; i < COUNT; i++) host[i] = i;
    require(cudaMemcpy(from, host, COUNT * sizeof *host, cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaLaunchCooperativeKernel((void *)many_kernel, dim3(BLOCKS), dim3(THREADS), arguments, 0, 0),
            "launch");
    finish_launch("many_kernel");
    download(host, to, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal("to", (size_t)i, host[i], i < ALL ? ALL - i : i);
    release(from);
    release(to);
    free(host);
    return finish("grid_of_many_threads");
}

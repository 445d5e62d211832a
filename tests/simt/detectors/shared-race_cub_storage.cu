// expect: shared-race
/** The temporary storage of a block's sum is used again with no barrier between. */
#include <cub/cub.cuh>

#include "detecting.h"

static __global__ void sums_kernel(const int *in, int *out)
{
    typedef cub::BlockReduce<int, 64> reduce;
    __shared__ typename reduce::TempStorage storage;
    const int first = reduce(storage).Sum(in[threadIdx.x]);
    const int second = reduce(storage).Sum(in[64 + threadIdx.x]);
    if (threadIdx.x == 0) *out = first * second;
}

int main(void)
{
    const int host[128] = {1};
    int *in = upload(host, 128), *out = device_array<int>(1);
    sums_kernel<<<1, 64>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

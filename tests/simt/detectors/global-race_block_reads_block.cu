// expect: global-race at lines 10, 11
/** A block reads what its neighbour writes in the same launch. */
#include "detecting.h"

enum { THREADS = 32, BLOCKS = 4 };

static __global__ void neighbour_kernel(float *values, float *out)
{
    const unsigned i = blockIdx.x * THREADS + threadIdx.x, n = gridDim.x * THREADS;
    values[i] = (float)i;               // here
    out[i] = values[(i + THREADS) % n]; // here
}

int main(void)
{
    float *values = device_array<float>(BLOCKS * THREADS), *out = device_array<float>(BLOCKS * THREADS);
    require(cudaMemset(values, 0, BLOCKS * THREADS * sizeof *values), "cudaMemset");
    neighbour_kernel<<<BLOCKS, THREADS>>>(values, out);
    expect_outcome(cudaSuccess);
    release(values);
    release(out);
    return 0;
}

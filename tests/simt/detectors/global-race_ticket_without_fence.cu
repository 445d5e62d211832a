// expect: global-race at lines 11, 17
/** As the twin with the ticket, but nothing makes a block's part visible before its ticket. */
#include "detecting.h"

enum { THREADS = 32, BLOCKS = 6 };

static __global__ void sum_kernel(volatile float *parts, unsigned *tickets, float *sum)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = (float)blockIdx.x; // here
        is_last = atomicAdd(tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads(); /* all threads learn whether this block is the last */
    if (is_last && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned i = 0; i < gridDim.x; i++) total += parts[i]; // here
        *sum = total;
    }
}

int main(void)
{
    float *parts = device_array<float>(BLOCKS), *sum = device_array<float>(1);
    unsigned *tickets = device_array<unsigned>(1);
    require(cudaMemset(tickets, 0, sizeof *tickets), "cudaMemset");
    sum_kernel<<<BLOCKS, THREADS>>>(parts, tickets, sum);
    expect_outcome(cudaSuccess);
    release(parts);
    release(sum);
    release(tickets);
    return 0;
}

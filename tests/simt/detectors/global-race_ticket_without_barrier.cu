// expect: global-race at lines 11, 18
/** The fence of the thread that draws the ticket covers its own store: nothing orders the others' stores before it. */
#include "detecting.h"

enum { THREADS = 64, BLOCKS = 4 };

static __global__ void sum_kernel(int *parts, unsigned *tickets, int *sum)
{
    __shared__ bool is_last;
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    parts[i] = 1; // here
    if (threadIdx.x == THREADS - 1) {
        __threadfence();
        is_last = atomicInc(tickets, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads(); /* all threads learn whether this block is the last */
    if (!is_last) return;
    for (unsigned k = threadIdx.x; k < BLOCKS * THREADS; k += THREADS) atomicAdd(sum, parts[k]); // here
}

int main(void)
{
    int *parts = device_array<int>(BLOCKS * THREADS), *sum = device_array<int>(1);
    unsigned *tickets = device_array<unsigned>(1);
    require(cudaMemset(tickets, 0, sizeof *tickets), "cudaMemset");
    require(cudaMemset(sum, 0, sizeof *sum), "cudaMemset");
    sum_kernel<<<BLOCKS, THREADS>>>(parts, tickets, sum);
    expect_outcome(cudaSuccess);
    release(parts);
    release(sum);
    release(tickets);
    return 0;
}

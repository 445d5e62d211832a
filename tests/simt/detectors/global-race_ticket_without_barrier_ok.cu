// expect: none
/** All threads of the block have stored, a barrier says, before one of them fences and draws the ticket. */
#include "detecting.h"

enum { THREADS = 64, BLOCKS = 4 };

static __global__ void sum_kernel(int *parts, unsigned *tickets, int *sum)
{
    __shared__ bool is_last;
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    parts[i] = 1;
    __syncthreads(); /* the others' stores come before the fence */
    if (threadIdx.x == THREADS - 1) {
        __threadfence();
        is_last = atomicInc(tickets, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads(); /* all threads learn whether this block is the last */
    if (!is_last) return;
    for (unsigned k = threadIdx.x; k < BLOCKS * THREADS; k += THREADS) atomicAdd(sum, parts[k]);
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

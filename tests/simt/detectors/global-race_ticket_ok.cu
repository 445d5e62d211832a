// expect: none
/** The last block reads what all others wrote: each has fenced before it drew its ticket. */
#include "detecting.h"

enum { THREADS = 32, BLOCKS = 6 };

static __global__ void sum_kernel(volatile float *parts, unsigned *tickets, float *sum)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = (float)blockIdx.x;
        __threadfence(); /* the part is visible before the ticket is drawn */
        is_last = atomicAdd(tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads(); /* all threads learn whether this block is the last */
    if (is_last && threadIdx.x == 0) {
        float total = 0.0f;
        for (unsigned i = 0; i < gridDim.x; i++) total += parts[i];
        *sum = total;
    }
}

int main(void)
{
    float *parts = device_array<float>(BLOCKS), *sum = device_array<float>(1), got;
    unsigned *tickets = device_array<unsigned>(1);
    require(cudaMemset(tickets, 0, sizeof *tickets), "cudaMemset");
    sum_kernel<<<BLOCKS, THREADS>>>(parts, tickets, sum);
    expect_outcome(cudaSuccess);
    download(&got, sum, 1);
    if (got != BLOCKS * (BLOCKS - 1) / 2) printf("the sum is %g\n", (double)got);
    release(parts);
    release(sum);
    release(tickets);
    return 0;
}

// expect: none
/** A block waits for the next one, and the last but one for the first: all of them fit on the device at once. */
#include "detecting.h"

enum { BLOCKS = 5 };

static __device__ int flags[BLOCKS], words[BLOCKS];

static __global__ void wait_kernel(int *out)
{
    const int next = ((int)blockIdx.x + 1) % BLOCKS;
    if (threadIdx.x != 0) return;
    words[blockIdx.x] = 10 * (int)blockIdx.x;
    __threadfence();
    atomicExch(&flags[blockIdx.x], 1);
    while (atomicAdd(&flags[next], 0) == 0) continue;
    __threadfence();
    out[blockIdx.x] = words[next];
}

int main(void)
{
    int *out = device_array<int>(BLOCKS), got[BLOCKS];
    wait_kernel<<<BLOCKS, 32>>>(out);
    expect_outcome(cudaSuccess);
    download(got, out, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        if (got[i] != 10 * ((i + 1) % BLOCKS)) printf("block %d has %d\n", i, got[i]);
    cudaFree(out);
    return 0;
}

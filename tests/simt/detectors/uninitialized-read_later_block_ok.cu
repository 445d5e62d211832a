// expect: none
/** A block reads what the next one has written in its turn, of memory that nobody had filled before. */
#include "detecting.h"

enum { BLOCKS = 2 };

static __global__ void wait_kernel(int *words, int *flags, int *out)
{
    const int next = ((int)blockIdx.x + 1) % BLOCKS;
    if (threadIdx.x != 0) return;
    words[blockIdx.x] = 10 + (int)blockIdx.x;
    __threadfence();
    atomicExch(&flags[blockIdx.x], 1);
    while (atomicAdd(&flags[next], 0) == 0) continue;
    __threadfence();
    out[blockIdx.x] = words[next];
}

int main(void)
{
    int *words = device_array<int>(BLOCKS), *flags = device_array<int>(BLOCKS),
        *out = device_array<int>(BLOCKS);
    int got[BLOCKS];
    cudaMemset(flags, 0, BLOCKS * sizeof *flags);
    wait_kernel<<<BLOCKS, 32>>>(words, flags, out);
    expect_outcome(cudaSuccess);
    download(got, out, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        if (got[i] != 10 + (i + 1) % BLOCKS) printf("block %d has %d\n", i, got[i]);
    cudaFree(words), cudaFree(flags), cudaFree(out);
    return 0;
}

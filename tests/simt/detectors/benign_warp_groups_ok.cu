// expect: none
/** Halves of a warp work on their own parts of shared memory, each with a __syncwarp of its own mask. */
#include "detecting.h"

static __global__ void halves_kernel(int *out)
{
    __shared__ int parts[2][16];
    const unsigned half = threadIdx.x / 16, i = threadIdx.x % 16, mask = 0xffffu << 16 * half;
    parts[half][i] = (int)threadIdx.x;
    __syncwarp(mask); /* this half's values are there */
    int value = parts[half][15 - i];
    if (half == 0) {
        __syncwarp(mask); /* all have read before one writes */
        parts[half][i] = value + 100;
        __syncwarp(mask); /* the new values are there */
        value = parts[half][i ^ 1];
    }
    __syncwarp(); /* both halves are done */
    out[threadIdx.x] = value + parts[1 - half][i];
}

int main(void)
{
    int *out = device_array<int>(32);
    halves_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

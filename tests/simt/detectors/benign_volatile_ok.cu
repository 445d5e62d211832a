// expect: none
/** Volatile shared memory with the warp barriers that it needs since Volta. */
#include "detecting.h"

static __global__ void sum_kernel(int *out)
{
    __shared__ volatile int sums[32];
    sums[threadIdx.x] = (int)threadIdx.x;
    __syncwarp(); /* all values are there */
    for (unsigned step = 16; step > 0; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + step];
        __syncwarp(); /* this level is complete */
    }
    out[threadIdx.x] = sums[0];
}

int main(void)
{
    int *out = device_array<int>(32), got[32];
    sum_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    download(got, out, 32);
    if (got[31] != 31 * 16) printf("the sum is %d\n", got[31]);
    release(out);
    return 0;
}

// expect: none
/** A sum within a warp in shared memory, a __syncwarp between every write and read; each warp has its own
 * row. */
#include "detecting.h"

enum { WARPS = 4 };

static __global__ void sum_kernel(int *out)
{
    __shared__ int rows[WARPS][32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    rows[warp][lane] = (int)threadIdx.x;
    __syncwarp(); /* the row is complete */
    for (unsigned step = 16; step > 0; step /= 2) {
        const int other = rows[warp][lane ^ step];
        __syncwarp(); /* all lanes have read before one writes */
        rows[warp][lane] += other;
        __syncwarp(); /* the new sums are there */
    }
    out[threadIdx.x] = rows[warp][31 - lane];
}

int main(void)
{
    int *out = device_array<int>(WARPS * 32);
    sum_kernel<<<1, WARPS * 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

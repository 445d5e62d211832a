// expect: none
/** The mask names the lanes that are there, taken by a vote while all are still there. */
#include "detecting.h"

static __global__ void reduce_kernel(int *out, int n)
{
    const unsigned mask = __ballot_sync(0xffffffffu, (int)threadIdx.x < n);
    int value = 1;
    if ((int)threadIdx.x >= n) return;
    for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_down_sync(mask, value, (unsigned)offset);
        if ((int)threadIdx.x + offset < n) value += other;
    }
    if (threadIdx.x == 0) *out = value;
}

int main(void)
{
    int *out = device_array<int>(1), got;
    reduce_kernel<<<1, 32>>>(out, 20);
    expect_outcome(cudaSuccess);
    download(&got, out, 1);
    if (got != 20) printf("the sum is %d\n", got);
    release(out);
    return 0;
}

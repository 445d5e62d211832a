// expect: deadlock at line 10
/** A reduction names all 32 lanes after the upper half has returned. */
#include "detecting.h"

static __global__ void reduce_kernel(int *out, int n)
{
    int value = 1;
    if ((int)threadIdx.x >= n) return;
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, (unsigned)offset); // here
    }
    if (threadIdx.x == 0) *out = value;
}

int main(void)
{
    int *out = device_array<int>(1);
    reduce_kernel<<<1, 32>>>(out, 20);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}

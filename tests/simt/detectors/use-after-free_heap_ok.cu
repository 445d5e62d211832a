// expect: none
/** A thread takes memory from the device heap, fills it, reads it and gives it back. */
#include "detecting.h"

static __global__ void list_kernel(int *out)
{
    int *const own = (int *)malloc(4 * sizeof *own);
    for (int i = 0; i < 4; i++) own[i] = i + (int)threadIdx.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = own[3];
    free(own);
}

int main(void)
{
    int *out = device_array<int>(32);
    list_kernel<<<2, 16>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

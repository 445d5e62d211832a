// expect: uninitialized-read at line 8
/** Memory from the device heap holds nothing before somebody writes it. */
#include "detecting.h"

static __global__ void list_kernel(int *out)
{
    int *const own = (int *)malloc(4 * sizeof *own);
    out[threadIdx.x] = own[3]; // here
    free(own);
}

int main(void)
{
    int *out = device_array<int>(32);
    list_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

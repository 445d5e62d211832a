// expect: use-after-free at line 9
/** A thread uses what it has given back to the device heap. */
#include "detecting.h"

static __global__ void list_kernel(int **rows)
{
    rows[threadIdx.x] = (int *)malloc(4 * sizeof(int));
    free(rows[threadIdx.x]);
    rows[threadIdx.x][3] = 1; // here
}

int main(void)
{
    int **rows = device_array<int *>(16);
    list_kernel<<<1, 16>>>(rows);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(rows);
    return 0;
}

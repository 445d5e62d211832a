// expect: none
/** Freed after its last use, and memory of the same size allocated again many times. */
#include "detecting.h"

static __global__ void fill_kernel(float *workspace)
{
    workspace[threadIdx.x] = 1.0f;
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        float *workspace = device_array<float>(32);
        fill_kernel<<<1, 32>>>(workspace);
        expect_outcome(cudaSuccess);
        release(workspace);
    }
    return 0;
}

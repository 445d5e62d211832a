// expect: out-of-bounds at line 10
/** The launch gives 63 floats of dynamic shared memory, the kernel uses 64. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void stage_kernel(float *out)
{
    extern __shared__ float stage[];
    stage[threadIdx.x] = 1.0f; // here
    __syncthreads();           /* the neighbour's value is there */
    out[threadIdx.x] = stage[threadIdx.x ^ 1];
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    stage_kernel<<<1, THREADS, (THREADS - 1) * sizeof(float)>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

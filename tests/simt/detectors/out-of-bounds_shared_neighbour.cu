// expect: out-of-bounds at line 14
/** The index runs out of one shared array into the next one. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void neighbours_kernel(float *out)
{
    __shared__ float first[THREADS], second[THREADS];
    const int i = (int)threadIdx.x;
    first[i] = (float)i;
    second[i] = (float)-i;
    __syncthreads();                       /* the neighbour's values are there */
    out[i] = first[i + 1] + second[i ^ 1]; // here
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    neighbours_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

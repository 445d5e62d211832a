// expect: none
/** Every element of two neighbouring shared arrays, the first and the last ones included. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void neighbours_kernel(float *out)
{
    __shared__ float first[THREADS], second[THREADS];
    const int i = (int)threadIdx.x;
    first[i] = (float)i;
    second[i] = (float)-i;
    __syncthreads(); /* the other values are there */
    out[i] = first[THREADS - 1 - i] + second[(i + 1) % THREADS];
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    neighbours_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

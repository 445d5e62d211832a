// expect: none
/** Different threads and blocks write different bytes of one word, in shared and in global memory. */
#include "detecting.h"

#include <cuda_fp16.h>

enum { THREADS = 64 };

static __global__ void bytes_kernel(unsigned char *bytes, half *halves)
{
    __shared__ unsigned char own_bytes[THREADS];
    __shared__ half own_halves[THREADS];
    const unsigned i = threadIdx.x * gridDim.x + blockIdx.x;
    own_bytes[threadIdx.x] = (unsigned char)threadIdx.x;
    own_halves[threadIdx.x] = __float2half((float)threadIdx.x);
    bytes[i] = own_bytes[threadIdx.x];
    halves[i] = own_halves[threadIdx.x];
}

int main(void)
{
    unsigned char *bytes = device_array<unsigned char>(3 * THREADS);
    half *halves = device_array<half>(3 * THREADS);
    bytes_kernel<<<3, THREADS>>>(bytes, halves);
    expect_outcome(cudaSuccess);
    release(bytes);
    release(halves);
    return 0;
}

// expect: none
/** Device variables of a few sizes, whole; they begin as zero. */
#include "detecting.h"

static __device__ float table[10], zeros[7];
static __device__ unsigned char flag;
static __constant__ float factors[3] = {1.0f, 2.0f, 3.0f};

static __global__ void use_kernel(float *out)
{
    if (threadIdx.x == 0) flag = flag + 1;
    table[threadIdx.x] = zeros[threadIdx.x % 7] + factors[threadIdx.x % 3];
    out[threadIdx.x] = table[threadIdx.x];
}

int main(void)
{
    float *out = device_array<float>(10);
    use_kernel<<<1, 10>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

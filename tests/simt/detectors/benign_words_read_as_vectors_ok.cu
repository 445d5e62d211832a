// expect: none
/** Half arrays are written one by one and read as float4, a barrier between; and the other way round. */
#include "detecting.h"

#include <cuda_fp16.h>

enum { THREADS = 64 };

static __global__ void views_kernel(float4 *out)
{
    __shared__ __align__(16) half halves[8 * THREADS];
    float4 *quads = reinterpret_cast<float4 *>(halves);
    for (int k = 0; k < 8; k++) halves[k * THREADS + threadIdx.x] = __float2half((float)k);
    __syncthreads(); /* eight threads wrote what one reads */
    const float4 quad = quads[THREADS - 1 - threadIdx.x];
    __syncthreads(); /* all have read before anyone writes */
    quads[threadIdx.x] = quad;
    __syncthreads(); /* one thread wrote what eight read */
    out[threadIdx.x] = make_float4(__half2float(halves[threadIdx.x]), quad.y, quad.z, quad.w);
}

int main(void)
{
    float4 *out = device_array<float4>(THREADS);
    views_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

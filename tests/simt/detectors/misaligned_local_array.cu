// expect: misaligned at line 10
/** A local array of floats, read sixteen bytes at a time from an element that is no multiple of four. */
#include "detecting.h"

enum { THREADS = 32 };

/** Sixteen bytes at once; @p from may point to local memory. */
static __device__ __noinline__ float4 four_floats(const float *from, int first)
{
    return *(const float4 *)(from + first); // here
}

static __global__ void local_kernel(const float *in, float *out)
{
    alignas(16) float own[8];
    for (int i = 0; i < 8; i++) own[i] = in[i * THREADS + threadIdx.x];
    float4 four = four_floats(own, in[0] == 0.0f);
    out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

int main(void)
{
    static float host[8 * THREADS];
    float *in = upload(host, 8 * THREADS), *out = device_array<float>(THREADS);
    local_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaErrorMisalignedAddress);
    abandon(in);
    abandon(out);
    return 0;
}

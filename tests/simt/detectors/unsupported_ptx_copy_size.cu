// expect: unsupported at line 13
/** What goes past the L1 cache goes 16 bytes at a time. */
#include "detecting.h"

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __global__ void ptx_kernel(const int *in, int *out)
{
    __shared__ __align__(16) int tile[128];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 8;" // here
                 :
                 : "r"(shared_address(&tile[4 * threadIdx.x])), "l"(in + 4 * threadIdx.x)
                 : "memory");
    asm volatile("cp.async.wait_all;" : : : "memory");
    out[threadIdx.x] = tile[4 * threadIdx.x];
}

int main(void)
{
    static int host[256];
    int *in = upload(host, 256), *out = device_array<int>(256);
    ptx_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(in);
    abandon(out);
    return 0;
}

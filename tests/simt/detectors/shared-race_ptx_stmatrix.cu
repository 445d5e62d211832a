// expect: shared-race at lines 15, 20
/** A row that another lane gave the address of is read right after it was stored. */
#include "detecting.h"

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __global__ void ptx_kernel(const int *in, int *out)
{
    __shared__ __align__(16) int tile[128];
    const int i = (int)threadIdx.x;
    const unsigned a = (unsigned)in[i];
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" // here
                 :
                 : "r"(shared_address(&tile[4 * i])), "r"(a)
                 : "memory");
    /* no __syncwarp */
    out[i] = tile[i]; // here
}

int main(void)
{
    static int host[256];
    int *in = upload(host, 256), *out = device_array<int>(256);
    ptx_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

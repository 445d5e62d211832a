// expect: misaligned at line 17
/** Rows of 20 bytes: most begin at no multiple of 16. */
#include "detecting.h"

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __global__ void ptx_kernel(const int *in, int *out)
{
    __shared__ __align__(16) int tile[160];
    unsigned a, b, c, d;
    const int i = (int)threadIdx.x;
    for (int k = 0; k < 4; k++) tile[5 * i + k] = in[4 * i + k];
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" // here
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(shared_address(&tile[5 * i]))
                 : "memory");
    out[i] = (int)(a ^ b ^ c ^ d);
}

int main(void)
{
    static int host[256];
    int *in = upload(host, 256), *out = device_array<int>(256);
    ptx_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaErrorMisalignedAddress);
    abandon(in);
    abandon(out);
    return 0;
}

// expect: out-of-bounds at line 9
/** A generic pointer cut to 32 bits is no address of shared memory. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[32];
    const unsigned at = (unsigned)(unsigned long long)&tile[threadIdx.x];
    asm volatile("st.shared.s32 [%0], %1;" : : "r"(at), "r"(1) : "memory"); // here
    out[threadIdx.x] = tile[threadIdx.x];
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}

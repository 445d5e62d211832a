// expect: none
/** The barrier is PTX, too. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[64];
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile);
    int d;
    asm volatile("st.shared.s32 [%0], %1;" : : "r"(at + 4 * threadIdx.x), "r"((int)threadIdx.x) : "memory");
    asm volatile("bar.sync 0;" : : : "memory");
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(d) : "r"(at + 4 * (threadIdx.x ^ 32)) : "memory");
    out[threadIdx.x] = d;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

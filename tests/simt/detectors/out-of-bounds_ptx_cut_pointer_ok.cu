// expect: none
/** The address that .shared takes. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[32];
    const unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("st.shared.s32 [%0], %1;" : : "r"(at), "r"(1) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

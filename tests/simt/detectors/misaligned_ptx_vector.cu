// expect: misaligned at line 7
/** Two words at an address that is a multiple of one. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    asm volatile("st.global.v2.s32 [%0+4], {%1, %2};" // here
                 :
                 : "l"(out + 2 * (threadIdx.x % 31)), "r"(1), "r"(1)
                 : "memory");
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 31>>>(out);
    expect_outcome(cudaErrorMisalignedAddress);
    abandon(out);
    return 0;
}

// expect: none
/** Each address in the state space that its instruction names. */
#include "detecting.h"

__constant__ int steps[32];

static __global__ void ptx_kernel(int *out)
{
    int own[2] = {(int)threadIdx.x, 1}, step, value;
    const size_t local = __cvta_generic_to_local(&own[1]);
    asm volatile("ld.const.s32 %0, [%1];" : "=r"(step) : "l"(__cvta_generic_to_constant(&steps[threadIdx.x])) : "memory");
    asm volatile("st.local.s32 [%0], %1;" : : "l"(local), "r"(step) : "memory");
    asm volatile("ld.local.s32 %0, [%1];" : "=r"(value) : "l"(local) : "memory");
    asm volatile("st.global.s32 [%0], %1;" : : "l"(out + threadIdx.x), "r"(value) : "memory");
    __stcg(&out[threadIdx.x], __ldcg(&out[threadIdx.x]) + __ldg(&steps[threadIdx.x]) + own[0]);
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: none
/** The last one that fits. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ __align__(16) int tile[36];
    for (int i = (int)threadIdx.x; i < 36; i += 32) tile[i] = i;
    __syncwarp();
    int a, b, c, d;
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile) + 16 * (threadIdx.x % 9);
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at)
                 : "memory");
    out[threadIdx.x] = a + b + c + d;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

// expect: missing-fence at line 24
/** The fragment of A is loaded after the fence. */
#include "warpgroups.h"

/** The same with A in registers. */
#define MULTIPLY_FRAGMENT(d, f, b)                                                                           \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "    \
                 "%8, 1, 1, 1, 0;"                                                                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                            \
                 : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b))

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[B_HALVES];
    float d[4] = {0};
    uint32_t f[4] = {0};
    fill(a, A_HALVES);
    fill(b, B_HALVES);
    PROXY_FENCE();
    __syncthreads();
    const uint64_t y = describe(b, 128, 256);
    WGMMA_FENCE();
    for (int i = 0; i < 4; i++) f[i] = ((const uint32_t *)a)[threadIdx.x + GROUP * i];
    MULTIPLY_FRAGMENT(d, f, y); // here
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}

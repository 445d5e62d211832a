// expect: deadlock
/** Half of the warp comes to mma.sync. */
#include "detecting.h"

static __global__ void ptx_kernel(const int *in, int *out)
{
    const unsigned a = (unsigned)in[threadIdx.x];
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (threadIdx.x < 16)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a));
    out[threadIdx.x] = (int)d[0];
}

int main(void)
{
    static int host[256];
    int *in = upload(host, 256), *out = device_array<int>(256);
    ptx_kernel<<<1, 32>>>(in, out);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(in);
    abandon(out);
    return 0;
}

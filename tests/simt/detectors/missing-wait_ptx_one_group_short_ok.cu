// expect: none
/** One may: the one that is read next. */
#include "detecting.h"

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __global__ void ptx_kernel(const int *in, int *out)
{
    __shared__ int tile[2][64];
    const int i = (int)threadIdx.x;
    for (int step = 0; step < 3; step++) {
        const unsigned to = shared_address(&tile[step % 2][i]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :
                     : "r"(to), "l"(in + 64 * step + i)
                     : "memory");
        asm volatile("cp.async.commit_group;" : : : "memory");
        if (step == 0) continue;
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        __syncthreads();
        out[64 * step + i] = tile[(step - 1) % 2][i ^ 32];
        __syncthreads();
    }
    asm volatile("cp.async.wait_all;" : : : "memory");
}

int main(void)
{
    static int host[256];
    int *in = upload(host, 256), *out = device_array<int>(256);
    ptx_kernel<<<1, 64>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}

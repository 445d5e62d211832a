// expect: global-race at line 7
/** All threads copy to one place, by the name that the compiler has for memcpy. */
#include "detecting.h"

static __global__ void copy_kernel(const char *from, char *to)
{
    __builtin_memcpy(to, from + threadIdx.x, 64); // here
}

int main(void)
{
    char *from = device_array<char>(128), *to = device_array<char>(64), bytes[128];
    for (int i = 0; i < 128; i++) bytes[i] = (char)i;
    require(cudaMemcpy(from, bytes, sizeof bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    copy_kernel<<<1, 32>>>(from, to);
    expect_outcome(cudaSuccess);
    release(from);
    release(to);
    return 0;
}

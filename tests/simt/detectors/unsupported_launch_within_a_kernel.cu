// expect: unsupported at line 15
/** A launch of what lies two bytes behind the beginning of a kernel: no function begins there. */
#include <cuda_runtime.h>

static __global__ void ordinary_kernel(int *out)
{
    if (out != nullptr) *out = 1;
}

int main(void)
{
    void (*const kernel)(int *) = ordinary_kernel;
    simt_launch launch = {};
    launch.kernel = "ordinary_kernel";
    launch.site = {__FILE__, __LINE__, "launch", nullptr}; // here
    launch.grid = launch.block = {1, 1, 1};
    launch.entry = (void (*)(const void *))((const char *)kernel + 2);
    launch.args = &kernel;
    simt_launch_kernel(&launch, sizeof kernel, nullptr);
    return cudaDeviceSynchronize() != cudaSuccess;
}

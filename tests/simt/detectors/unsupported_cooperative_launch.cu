// expect: unsupported at line 15
/** A grid-wide launch: refused with a message, for blocks here run one after another. */
#include "detecting.h"

static __global__ void fill_kernel(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

int main(void)
{
    float *data = device_array<float>(64);
    void *arguments[] = {&data};
    const cudaError_t status =
        cudaLaunchCooperativeKernel((void *)fill_kernel, dim3(2), dim3(32), arguments, 0, 0); // here
    if (status == cudaSuccess) printf("the launch succeeds\n");
    (void)cudaGetLastError();
    release(data);
    return 0;
}

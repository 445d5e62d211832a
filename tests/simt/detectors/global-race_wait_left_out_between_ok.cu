// expect: none
/** Every kernel of the chain waits, if only one thread of it; one that lets the next start only after its wait has made
 * sure for it, too.
 */
#include "detecting.h"

static cudaLaunchConfig_t early_configuration(cudaLaunchAttribute *attribute, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    *attribute = {};
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(2);
    config.blockDim = dim3(64);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

static __global__ void fill_kernel(float *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[blockIdx.x * blockDim.x + threadIdx.x] = (float)threadIdx.x;
}

static __global__ void between_kernel(float *z)
{
    if (blockIdx.x + threadIdx.x == 0) cudaGridDependencySynchronize();
    z[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

static __global__ void twice_kernel(const float *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    cudaGridDependencySynchronize();
    y[i] = 2.0f * x[i];
}

static __global__ void waits_first_kernel(float *z)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    z[blockIdx.x * blockDim.x + threadIdx.x] = 2.0f;
}

static __global__ void reads_early_kernel(const float *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const float value = x[i];
    cudaGridDependencySynchronize();
    y[i] = value;
}

int main(void)
{
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = early_configuration(&attribute, NULL);
    float *x = device_array<float>(128), *y = device_array<float>(128);
    float *z = device_array<float>(128);
    fill_kernel<<<2, 64>>>(x);
    cudaLaunchKernelEx(&config, between_kernel, z);
    cudaLaunchKernelEx(&config, twice_kernel, (const float *)x, y);
    fill_kernel<<<2, 64>>>(x);
    cudaLaunchKernelEx(&config, waits_first_kernel, z);
    cudaLaunchKernelEx(&config, reads_early_kernel, (const float *)x, y);
    expect_outcome(cudaSuccess);
    release(x);
    release(y);
    release(z);
    return 0;
}

// expect: none
/** What no kernel writes may be read before the wait; the wait of one thread holds for those behind its barrier; a kernel
 * that is over by other means needs none.
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

static __global__ void scale_kernel(const float *x, float *y, const float *factor)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const float f = factor[i];
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    y[i] = f * x[i];
}

static __global__ void one_waits_kernel(float *x, const float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (threadIdx.x == 0) cudaGridDependencySynchronize();
    __syncthreads();
    x[i] = y[127 - i];
}

static __global__ void one_lane_waits_kernel(float *x, const float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (threadIdx.x % 32 == 0) cudaGridDependencySynchronize();
    __syncwarp();
    x[i] = y[127 - i];
}

static __global__ void never_waits_kernel(float *x, const float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    x[i] = y[i];
}

int main(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaLaunchAttribute attribute;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    const cudaLaunchConfig_t config = early_configuration(&attribute, stream);
    float *x = device_array<float>(128), *y = device_array<float>(128), *factor = device_array<float>(128);
    fill_kernel<<<2, 64, 0, stream>>>(factor);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    fill_kernel<<<2, 64, 0, stream>>>(x);
    cudaLaunchKernelEx(&config, scale_kernel, (const float *)x, y, (const float *)factor);
    cudaLaunchKernelEx(&config, one_waits_kernel, x, (const float *)y);
    cudaLaunchKernelEx(&config, scale_kernel, (const float *)x, y, (const float *)factor);
    cudaLaunchKernelEx(&config, one_lane_waits_kernel, x, (const float *)y);
    cudaMemcpyAsync(y, x, 512, cudaMemcpyDeviceToDevice, stream);
    cudaLaunchKernelEx(&config, never_waits_kernel, x, (const float *)y); // a copy is over when it begins
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
    cudaGraphLaunch(executable, stream);
    scale_kernel<<<2, 64, 0, stream>>>(x, y, factor);
    cudaStreamSynchronize(stream);
    cudaLaunchKernelEx(&config, never_waits_kernel, x, (const float *)y); // and so is what the host waited for
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    expect_outcome(cudaSuccess);
    release(x);
    release(y);
    release(factor);
    return 0;
}

// expect: none
/** A graph copies from host memory that is freed after its last replay; other memory comes and goes. */
#include "detecting.h"

#include <stdlib.h>

static __global__ void add_kernel(float *x)
{
    x[threadIdx.x] += 1.0f;
}

static __attribute__((noinline)) cudaGraphExec_t capture(float *x, float *host, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(cudaMemcpyAsync(x, host, 64 * sizeof *x, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    add_kernel<<<1, 64, 0, stream>>>(x);
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return executable;
}

int main(void)
{
    float *x = device_array<float>(64), *host = host_array<float>(64);
    cudaStream_t stream;
    for (int i = 0; i < 64; i++) host[i] = 2.0f;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    cudaGraphExec_t executable = capture(x, host, stream);
    for (int i = 0; i < 3; i++) {
        float *other = host_array<float>(64);
        require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
        other = (float *)realloc(other, 4096);
        free(other);
    }
    expect_outcome(cudaSuccess);
    free(host);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(x);
    return 0;
}

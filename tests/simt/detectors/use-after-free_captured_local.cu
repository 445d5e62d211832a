// expect: use-after-free at line 21
// says: its function has returned
/** A graph copies from a local array of a function that has returned. */
#include "detecting.h"

#include <stdlib.h>

static __global__ void add_kernel(float *x)
{
    x[threadIdx.x] += 1.0f;
}

static __attribute__((noinline)) cudaGraphExec_t capture(float *x, float *host, cudaStream_t stream)
{
    float local[64];
    for (int i = 0; i < 64; i++) local[i] = host[i];
    host = local;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(cudaMemcpyAsync(x, host, 64 * sizeof *x, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync"); // here
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
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    expect_outcome(cudaErrorIllegalAddress);
    abandon(x);
    free(host);
    return 0;
}

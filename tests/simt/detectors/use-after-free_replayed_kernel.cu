// expect: use-after-free at line 7
/** A graph still knows the address of memory that was freed since the capture. */
#include "detecting.h"

static __global__ void add_kernel(int *x)
{
    *x += 1; // here
}

int main(void)
{
    int *x = device_array<int>(1);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaMemset(x, 0, sizeof *x), "cudaMemset");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    add_kernel<<<1, 1, 0, stream>>>(x);
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    release(x);
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    expect_outcome(cudaErrorIllegalAddress);
    abandon(NULL);
    return 0;
}

// expect: none
/** Both the graph and what was made of it are destroyed. */
#include "detecting.h"

static __global__ void add_kernel(int *x)
{
    *x += 1;
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
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(x);
    return 0;
}

// expect: use-after-free at line 14
/** A graph fills memory that was freed since the capture. */
#include "detecting.h"

int main(void)
{
    int *x = device_array<int>(1);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaMemset(x, 0, sizeof *x), "cudaMemset");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(cudaMemsetAsync(x, 1, sizeof *x, stream), "cudaMemsetAsync"); // here
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    release(x);
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    expect_outcome(cudaErrorIllegalAddress);
    abandon(NULL);
    return 0;
}

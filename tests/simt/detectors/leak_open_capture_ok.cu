// expect: none
/** The capture is ended, though nobody wants its graph. */
#include "detecting.h"

static __global__ void add_kernel(int *x)
{
    *x += 1;
}

int main(void)
{
    int *x = device_array<int>(1);
    cudaStream_t stream;
    require(cudaMemset(x, 0, sizeof *x), "cudaMemset");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    add_kernel<<<1, 1, 0, stream>>>(x);
    require(cudaStreamEndCapture(stream, NULL), "cudaStreamEndCapture");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(x);
    return 0;
}

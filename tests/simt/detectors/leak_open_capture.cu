// expect: leak at line 16
/** The program leaves a capture open, as one does that returns early from an error. */
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
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture"); // here
    add_kernel<<<1, 1, 0, stream>>>(x);
    release(x);
    return 0;
}

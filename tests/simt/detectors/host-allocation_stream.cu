// expect: host-allocation at line 8
/** An entry point that makes a stream to work on. */
#include "promising.h"

static cudaError_t add_two(float *data, cudaStream_t *stream)
{
    if (*stream == NULL)
        cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); // here
    add_one<<<1, 32, 0, *stream>>>(data);
    return cudaGetLastError();
}

int main(void)
{
    cudaStream_t stream = NULL;
    float *data = device_array<float>(32);
    require(cudaMemset(data, 0, 32 * sizeof *data), "cudaMemset");
    keep(NO_MEMORY | NO_OBJECTS);
    add_two(data, &stream);
    keep(0);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(data);
    return 0;
}

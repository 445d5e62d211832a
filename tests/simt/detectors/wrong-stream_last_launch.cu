// expect: wrong-stream at line 8
/** The second of two launches forgets the stream, and goes to the legacy default stream. */
#include "promising.h"

static cudaError_t add_two(float *data, cudaStream_t stream)
{
    add_one<<<1, 32, 0, stream>>>(data);
    add_one<<<1, 32>>>(data); // here
    return cudaGetLastError();
}

int main(void)
{
    cudaStream_t stream;
    float *data = device_array<float>(32);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaMemset(data, 0, 32 * sizeof *data), "cudaMemset");
    keep(ONE_STREAM, stream);
    add_two(data, stream);
    keep(0);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(data);
    return 0;
}

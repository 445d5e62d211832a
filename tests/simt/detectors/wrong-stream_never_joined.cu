// expect: wrong-stream at line 13
/** Work forks to a second stream; the given one waits for an event that was recorded before it. */
#include "promising.h"

static cudaStream_t side;
static cudaEvent_t forked, joined;

static cudaError_t add_two(float *data, cudaStream_t stream)
{
    cudaEventRecord(forked, stream);
    cudaStreamWaitEvent(side, forked, 0);
    cudaEventRecord(joined, side);
    add_one<<<1, 32, 0, side>>>(data); // here
    cudaStreamWaitEvent(stream, joined, 0);
    return cudaGetLastError();
}

int main(void)
{
    cudaStream_t stream;
    float *data = device_array<float>(32);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaEventCreate(&forked), "cudaEventCreate");
    require(cudaEventCreate(&joined), "cudaEventCreate");
    require(cudaMemset(data, 0, 32 * sizeof *data), "cudaMemset");
    keep(ONE_STREAM, stream);
    add_two(data, stream);
    keep(0);
    require(cudaEventDestroy(forked), "cudaEventDestroy");
    require(cudaEventDestroy(joined), "cudaEventDestroy");
    require(cudaStreamDestroy(side), "cudaStreamDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(data);
    return 0;
}

// expect: none
/** Half of the work forks to a stream of its own, twice, and joins the given one again. */
#include "promising.h"

static cudaStream_t side;
static cudaEvent_t passed;

static cudaError_t add_two(float *data, cudaStream_t stream)
{
    for (int i = 0; i < 2; i++) {
        add_one<<<1, 32, 0, stream>>>(data);
        cudaEventRecord(passed, stream);
        cudaStreamWaitEvent(side, passed, 0);
        add_one<<<1, 32, 0, side>>>(data + 32);
        cudaMemsetAsync(data + 64, 0, 4, side);
        cudaEventRecord(passed, side);
        cudaStreamWaitEvent(stream, passed, 0);
    }
    return cudaGetLastError();
}

int main(void)
{
    cudaStream_t stream;
    float *data = device_array<float>(96);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaEventCreate(&passed), "cudaEventCreate");
    require(cudaMemset(data, 0, 96 * sizeof *data), "cudaMemset");
    keep(ONE_STREAM | NO_WAIT | NO_MEMORY | NO_OBJECTS, stream);
    add_two(data, stream);
    keep(0);
    add_one<<<1, 32>>>(data);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require(cudaEventDestroy(passed), "cudaEventDestroy");
    require(cudaStreamDestroy(side), "cudaStreamDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(data);
    return 0;
}

/**
 * Streams and events: work in one stream runs in order, another stream waits for an event, events measure
 * time.
 */
#include "../testing.h"

enum { THREADS = 128, COUNT = 4000, BLOCKS = (COUNT + THREADS - 1) / THREADS };

static __global__ void add_kernel(float *x, /* [COUNT] */
                                  float value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) x[i] += value;
}

static __global__ void scale_kernel(const float *x, /* [COUNT] */
                                    float *y,       /* [COUNT] */
                                    float factor)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) y[i] = factor * x[i];
}

static void check_events(cudaEvent_t start, cudaEvent_t stop)
{
    float milliseconds = -1.0f;
    require(cudaEventSynchronize(stop), "cudaEventSynchronize");
    require(cudaEventQuery(start), "cudaEventQuery");
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    expect_equal("elapsed time is not negative and below a minute", 0,
                 milliseconds >= 0.0f && milliseconds < 6e4f, 1);
}

int main(void)
{
    float *x = device_array<float>(COUNT), *y = device_array<float>(COUNT), *pinned_x, *pinned_y;
    cudaStream_t first, second;
    cudaEvent_t start, ready, stop;
    require(cudaMallocHost((void **)&pinned_x, COUNT * sizeof(float)), "cudaMallocHost");
    require(cudaHostAlloc((void **)&pinned_y, COUNT * sizeof(float), cudaHostAllocDefault), "cudaHostAlloc");
    require(cudaStreamCreate(&first), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    require(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), "cudaEventCreateWithFlags");

    for (int i = 0; i < COUNT; i++) pinned_x[i] = (float)i;
    require(cudaEventRecord(start, first), "cudaEventRecord");
    require(cudaMemcpyAsync(x, pinned_x, COUNT * sizeof(float), cudaMemcpyHostToDevice, first),
            "cudaMemcpyAsync");
    for (int round = 0; round < 3; round++) add_kernel<<<BLOCKS, THREADS, 0, first>>>(x, 1.0f);
    require(cudaEventRecord(ready, first), "cudaEventRecord");
    require(cudaStreamWaitEvent(second, ready, 0), "cudaStreamWaitEvent");
    scale_kernel<<<BLOCKS, THREADS, 0, second>>>(x, y, 2.0f);
    require(cudaMemcpyAsync(pinned_y, y, COUNT * sizeof(float), cudaMemcpyDeviceToHost, second),
            "cudaMemcpyAsync");
    require(cudaEventRecord(stop, second), "cudaEventRecord");
    require(cudaStreamSynchronize(second), "cudaStreamSynchronize");
    require(cudaStreamQuery(first), "cudaStreamQuery");
    for (int i = 0; i < COUNT; i++) expect_close("y", i, pinned_y[i], 2.0 * (i + 3), 0.0);
    check_events(start, stop);

    require(cudaMemsetAsync(x, 0, COUNT * sizeof(float), first), "cudaMemsetAsync");
    require(cudaStreamSynchronize(first), "cudaStreamSynchronize");
    download(pinned_x, x, COUNT);
    for (int i = 0; i < COUNT; i++) expect_close("x", i, pinned_x[i], 0.0, 0.0);

    require(cudaEventDestroy(start), "cudaEventDestroy");
    require(cudaEventDestroy(ready), "cudaEventDestroy");
    require(cudaEventDestroy(stop), "cudaEventDestroy");
    require(cudaStreamDestroy(first), "cudaStreamDestroy");
    require(cudaStreamDestroy(second), "cudaStreamDestroy");
    require(cudaFreeHost(pinned_x), "cudaFreeHost");
    require(cudaFreeHost(pinned_y), "cudaFreeHost");
    release(x);
    release(y);
    return finish("streams_events");
}

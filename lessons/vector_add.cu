// Adds two vectors on the device. lessons/README.md says how to build and run it, with or without a GPU.
#include <stdio.h>

__global__ void add_kernel(const float *a, const float *b, float *sum, int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); // each thread adds one pair
    if (i < count) sum[i] = a[i] + b[i];                  // the last block has threads to spare
}

int main(void)
{
    enum { COUNT = 1000, THREADS = 256, BLOCKS = (COUNT + THREADS - 1) / THREADS };
    float a[COUNT], b[COUNT], sum[COUNT] = {0}, *d_a, *d_b, *d_sum; // d_: in device memory
    for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = 2.0f * (float)i;
    cudaMalloc(&d_a, sizeof a), cudaMalloc(&d_b, sizeof b), cudaMalloc(&d_sum, sizeof sum);
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, sizeof b, cudaMemcpyHostToDevice);
    add_kernel<<<BLOCKS, THREADS>>>(d_a, d_b, d_sum, COUNT);
    cudaError_t error = cudaMemcpy(sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost); // waits for the kernel
    cudaFree(d_a), cudaFree(d_b), cudaFree(d_sum);
    printf("999 + 1998 = %g (%s)\n", (double)sum[COUNT - 1], cudaGetErrorString(error));
    return error != cudaSuccess;
}

// sum COUNT: sums COUNT ones on the device; the exit code says whether the sum is COUNT.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "reduction.h"

int main(int argc, char **argv)
{
    int count = argc > 1 ? std::atoi(argv[1]) : 1000;
    std::vector<float> ones(count, 1.0f);
    float *values = nullptr, *result = nullptr, sum = 0.0f;
    if (cudaMalloc(&values, count * sizeof(float)) != cudaSuccess) return 2;
    if (cudaMalloc(&result, sizeof(float)) != cudaSuccess) return 2;
    cudaMemcpy(values, ones.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(result, 0, sizeof(float));
    cudaError_t error = add_sum(values, count, result);
    if (error == cudaSuccess) error = cudaMemcpy(&sum, result, sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(values);
    cudaFree(result);
    std::printf("%d ones add up to %g (%s)\n", count, sum, cudaGetErrorString(error));
    return error == cudaSuccess && sum == (float)count ? 0 : 1;
}

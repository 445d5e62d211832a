// expect: none
/** The loop by which CUDA's guide builds an atomic: a plain read is a guess, which the compare-and-swap checks. */
#include "detecting.h"

static __device__ double add(double *address, double value)
{
    unsigned long long *const word = (unsigned long long *)address;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(
            word, assumed,
            (unsigned long long)__double_as_longlong(value + __longlong_as_double((long long)assumed)));
    } while (assumed != old);
    return __longlong_as_double((long long)old);
}

static __global__ void sum_kernel(const double *in, double *sums)
{
    add(&sums[threadIdx.x % 4], in[blockIdx.x * blockDim.x + threadIdx.x]);
}

int main(void)
{
    static double host[256];
    double *in = upload(host, 256), *sums = upload(host, 4);
    sum_kernel<<<4, 64>>>(in, sums);
    expect_outcome(cudaSuccess);
    release(in);
    release(sums);
    return 0;
}

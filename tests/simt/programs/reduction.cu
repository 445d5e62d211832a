/**
 * Sum and maximum of an array in one pass: shuffles within a warp, shared memory across the warps of a block,
 * one atomic a block. Integers, so that any order of additions gives the same sum.
 */
#include "../testing.h"

enum { THREADS = 256, WARPS = THREADS / 32, FULL_MASK = -1 };

static __device__ int warp_sum(int value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync((unsigned)FULL_MASK, value, offset);
    return value; /* right in lane 0 */
}

static __device__ int warp_maximum(int value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value = max(value, __shfl_xor_sync((unsigned)FULL_MASK, value, offset));
    }
    return value; /* right in every lane */
}

static __global__ void reduce_kernel(const int *in,   /* [n] */
                                     int n, int *sum, /* starts at 0 */
                                     int *largest)    /* starts below every element */
{
    __shared__ int sums[WARPS], maxima[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int partial_sum = 0, partial_maximum = -2147483647;
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x)) {
        partial_sum += in[i];
        partial_maximum = max(partial_maximum, in[i]);
    }
    partial_sum = warp_sum(partial_sum);
    partial_maximum = warp_maximum(partial_maximum);
    if (lane == 0) {
        sums[warp] = partial_sum;
        maxima[warp] = partial_maximum;
    }
    __syncthreads(); /* every warp has left its part */
    if (warp == 0) {
        partial_sum = warp_sum(lane < WARPS ? sums[lane] : 0);
        partial_maximum = warp_maximum(lane < WARPS ? maxima[lane] : -2147483647);
        if (lane == 0) {
            atomicAdd(sum, partial_sum);
            atomicMax(largest, partial_maximum);
        }
    }
}

static void run(int n, int blocks)
{
    int *host = host_array<int>(n), results[2] = {0, -2147483647}, sum = 0, largest = -2147483647;
    unsigned state = 7u + (unsigned)n;
    for (int i = 0; i < n; i++) {
        host[i] = (int)(next_random(&state) % 20001u) - 10000;
        sum += host[i];
        if (host[i] > largest) largest = host[i];
    }
    int *in = upload(host, n), *device_results = upload(results, 2);
    reduce_kernel<<<blocks, THREADS>>>(in, n, device_results, device_results + 1);
    finish_launch("reduce_kernel");
    download(results, device_results, 2);
    expect_equal("sum", n, results[0], sum);
    expect_equal("maximum", n, results[1], largest);
    release(in);
    release(device_results);
    free(host);
}

int main(void)
{
    run(1, 1);
    run(255, 1);
    run(4099, 7);
    run(30011, 16);
    return finish("reduction");
}

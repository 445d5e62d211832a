/**
 * The largest blocks: 1024 threads, and all the shared memory that a block may have after opting in (227 KB
 * on sm_90, less elsewhere). Shown: a tree of 1024 threads, attributes set before the launch, the limit
 * itself.
 */
#include "../testing.h"

enum { THREADS = 1024 };

/* Sums what the block holds in shared memory; word i is i. */
static __global__ void fill_and_sum_kernel(unsigned *out, int words)
{
    extern __shared__ unsigned memory[];
    __shared__ unsigned sums[THREADS / 32];
    for (int i = (int)threadIdx.x; i < words; i += THREADS) memory[i] = (unsigned)i;
    __syncthreads(); /* words of other threads are summed */
    unsigned sum = 0;
    for (int i = (int)threadIdx.x; i < words; i += THREADS) sum += memory[words - 1 - i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads(); /* all warps have left their sum */
    for (int step = THREADS / 64; step > 0; step /= 2) {
        if ((int)threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads(); /* this level is complete */
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

int main(void)
{
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    const int static_bytes = THREADS / 32 * (int)sizeof(unsigned);
    const int bytes = (int)properties.sharedMemPerBlockOptin - static_bytes,
              words = bytes / (int)sizeof(unsigned);
    unsigned got[3], *out = device_array<unsigned>(3);

    fill_and_sum_kernel<<<1, THREADS, bytes>>>(out, words);
    expect_equal("too much without opting in", 0, cudaGetLastError(), cudaErrorInvalidValue);
    require(cudaFuncSetAttribute(fill_and_sum_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "cudaFuncSetAttribute");
    fill_and_sum_kernel<<<3, THREADS, bytes>>>(out, words);
    finish_launch("fill_and_sum_kernel");
    download(got, out, 3);
    for (int i = 0; i < 3; i++) expect_equal("sum", i, got[i], (unsigned)((size_t)words * (words - 1) / 2));
    fill_and_sum_kernel<<<1, THREADS, bytes + 4>>>(out, words);
    expect_equal("a word beyond the opt-in", 0, cudaGetLastError(), cudaErrorInvalidValue);

    fill_and_sum_kernel<<<1, THREADS, 4096>>>(out, 1024);
    finish_launch("fill_and_sum_kernel");
    download(got, out, 1);
    expect_equal("sum of 1024", 0, got[0], 1023 * 512);
    release(out);
    return finish("large_blocks");
}

/**
 * Histogram of bytes: each block counts in shared memory with atomics, then adds its bins to the global ones.
 */
#include "../testing.h"

enum { BINS = 256, THREADS = 128, BLOCKS = 12, COUNT = 20011 };

static __global__ void histogram_kernel(const unsigned char *in,   /* [count] */
                                        int count, unsigned *bins) /* [BINS], starts at zero */
{
    __shared__ unsigned local[BINS];
    for (int bin = (int)threadIdx.x; bin < BINS; bin += THREADS) local[bin] = 0;
    __syncthreads(); /* all bins are zero before the first count */
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < count; i += (int)gridDim.x * THREADS) {
        atomicAdd(&local[in[i]], 1u);
    }
    __syncthreads(); /* all counts are in */
    for (int bin = (int)threadIdx.x; bin < BINS; bin += THREADS) {
        if (local[bin] > 0) atomicAdd(&bins[bin], local[bin]);
    }
}

int main(void)
{
    static unsigned char host[COUNT];
    unsigned expected[BINS] = {0}, got[BINS], state = 5;
    for (int i = 0; i < COUNT; i++) {
        host[i] = (unsigned char)(next_random(&state) % 200 * (i % 3 != 0)); /* a third of all values are 0 */
        expected[host[i]]++;
    }
    unsigned char *in = upload(host, COUNT);
    unsigned *bins = device_array<unsigned>(BINS);
    require(cudaMemset(bins, 0, BINS * sizeof *bins), "cudaMemset");
    histogram_kernel<<<BLOCKS, THREADS>>>(in, COUNT, bins);
    finish_launch("histogram_kernel");
    download(got, bins, BINS);
    for (int bin = 0; bin < BINS; bin++) expect_equal("bin", bin, got[bin], expected[bin]);
    release(in);
    release(bins);
    return finish("histogram");
}

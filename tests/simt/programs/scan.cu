/**
 * Exclusive prefix sum of any length: Blelloch's up and down sweep within a block, Hillis and Steele's
 * doubling over the blocks' totals, and a third kernel that adds the two. Shown: three launches that depend
 * on each other.
 *
 * G. E. Blelloch, "Prefix sums and their applications", 1990.
 */
#include "../testing.h"

enum { THREADS = 64, BLOCK_ELEMS = 2 * THREADS, MAX_BLOCKS = 128 };

static __global__ void scan_blocks_kernel(const unsigned *in, /* [n] */
                                          unsigned *out,      /* [n], each block's own prefix sums */
                                          unsigned *totals,   /* [gridDim.x] */
                                          int n)
{
    __shared__ unsigned tree[BLOCK_ELEMS];
    const int first = (int)(blockIdx.x * BLOCK_ELEMS);
    for (int i = (int)threadIdx.x; i < BLOCK_ELEMS; i += THREADS) tree[i] = first + i < n ? in[first + i] : 0;
    for (int stride = 1; stride < BLOCK_ELEMS; stride *= 2) {
        __syncthreads(); /* the level below is complete */
        const int right = (int)(threadIdx.x + 1) * 2 * stride - 1;
        if (right < BLOCK_ELEMS) tree[right] += tree[right - stride];
    }
    __syncthreads(); /* the root is the block's total */
    if (threadIdx.x == 0) {
        totals[blockIdx.x] = tree[BLOCK_ELEMS - 1];
        tree[BLOCK_ELEMS - 1] = 0;
    }
    for (int stride = BLOCK_ELEMS / 2; stride > 0; stride /= 2) {
        __syncthreads(); /* the level above is complete */
        const int right = (int)(threadIdx.x + 1) * 2 * stride - 1;
        if (right < BLOCK_ELEMS) {
            const unsigned left_sum = tree[right - stride];
            tree[right - stride] = tree[right];
            tree[right] += left_sum;
        }
    }
    __syncthreads(); /* every prefix is final */
    for (int i = (int)threadIdx.x; i < BLOCK_ELEMS; i += THREADS) {
        if (first + i < n) out[first + i] = tree[i];
    }
}

/* One block. Two buffers take turns, so that one barrier a step is enough. */
static __global__ void
scan_totals_kernel(unsigned *totals, /* [blocks]: totals in, exclusive prefix sums out */
                   int blocks)
{
    __shared__ unsigned sums[2][MAX_BLOCKS];
    const int i = (int)threadIdx.x;
    int from = 0;
    sums[0][i] = i > 0 && i <= blocks ? totals[i - 1] : 0;
    for (int offset = 1; offset < MAX_BLOCKS; offset *= 2) {
        __syncthreads(); /* the buffer read now is complete, the one written now is no longer read */
        sums[1 - from][i] = sums[from][i] + (i >= offset ? sums[from][i - offset] : 0);
        from = 1 - from;
    }
    if (i < blocks) totals[i] = sums[from][i];
}

static __global__ void add_totals_kernel(unsigned *out, const unsigned *totals, int n)
{
    const int i = (int)(blockIdx.x * BLOCK_ELEMS + threadIdx.x);
    if (i < n) out[i] += totals[blockIdx.x];
    if (i + THREADS < n) out[i + THREADS] += totals[blockIdx.x];
}

static void run(int n)
{
    const int blocks = (n + BLOCK_ELEMS - 1) / BLOCK_ELEMS;
    unsigned *host = host_array<unsigned>(n), *sums = host_array<unsigned>(n), sum = 0, state = 11;
    for (int i = 0; i < n; i++) host[i] = next_random(&state) % 1000;
    unsigned *in = upload(host, n), *out = device_array<unsigned>(n),
             *totals = device_array<unsigned>(blocks);
    scan_blocks_kernel<<<blocks, THREADS>>>(in, out, totals, n);
    require(cudaGetLastError(), "scan_blocks_kernel");
    scan_totals_kernel<<<1, MAX_BLOCKS>>>(totals, blocks);
    require(cudaGetLastError(), "scan_totals_kernel");
    add_totals_kernel<<<blocks, THREADS>>>(out, totals, n);
    finish_launch("add_totals_kernel");
    download(sums, out, n);
    for (int i = 0; i < n; i++) {
        expect_equal("prefix", i, sums[i], sum);
        sum += host[i];
    }
    release(in);
    release(out);
    release(totals);
    free(host);
    free(sums);
}

int main(void)
{
    run(1);
    run(BLOCK_ELEMS);
    run(BLOCK_ELEMS + 1);
    run(12345);
    return finish("scan");
}

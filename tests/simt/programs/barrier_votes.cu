/**
 * The barriers that vote: __syncthreads_count, _and, _or give every thread of the block the same result, in
 * blocks that are no multiple of a warp; threads that have finished do not keep a barrier waiting.
 */
#include "../testing.h"

enum { MAX_THREADS = 300, BLOCKS = 3 };

static __global__ void votes_kernel(const int *in, /* [BLOCKS, blockDim.x] */
                                    int *out)      /* [3, BLOCKS, blockDim.x] */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), all = (int)(gridDim.x * blockDim.x);
    out[i] = __syncthreads_count(in[i] % 2);
    out[all + i] = __syncthreads_and(in[i] > 0) != 0;
    out[2 * all + i] = __syncthreads_or(in[i] > 97) != 0;
}

/* Whole warps leave; the barrier is then among those that stay. */
static __global__ void early_exit_kernel(int *out) /* [blockDim.x] */
{
    __shared__ int values[MAX_THREADS];
    values[threadIdx.x] = (int)threadIdx.x;
    out[threadIdx.x] = -1;
    if (threadIdx.x >= 64) return;
    __syncthreads(); /* the 64 values read below are there */
    out[threadIdx.x] = values[63 - threadIdx.x];
}

static void check_votes(int threads)
{
    const int count = BLOCKS * threads;
    int host[BLOCKS * MAX_THREADS], got[3 * BLOCKS * MAX_THREADS];
    unsigned state = 67u + (unsigned)threads;
    for (int i = 0; i < count; i++) host[i] = (int)(next_random(&state) % 99) + (i / threads == 1 ? 0 : 1);
    int *in = upload(host, count), *out = device_array<int>(3 * count);
    votes_kernel<<<BLOCKS, threads>>>(in, out);
    finish_launch("votes_kernel");
    download(got, out, 3 * count);
    for (int block = 0; block < BLOCKS; block++) {
        int odd = 0, positive = 1, large = 0;
        for (int i = block * threads; i < (block + 1) * threads; i++) {
            odd += host[i] % 2;
            positive &= host[i] > 0;
            large |= host[i] > 97;
        }
        for (int i = block * threads; i < (block + 1) * threads; i++) {
            expect_equal("count", i, got[i], odd);
            expect_equal("and", i, got[count + i], positive);
            expect_equal("or", i, got[2 * count + i], large);
        }
    }
    release(in);
    release(out);
}

int main(void)
{
    const int sizes[] = {1, 31, 32, 33, 100, 256, MAX_THREADS};
    for (int threads : sizes) check_votes(threads);
    int got[128], *out = device_array<int>(128);
    early_exit_kernel<<<1, 128>>>(out);
    finish_launch("early_exit_kernel");
    download(got, out, 128);
    for (int i = 0; i < 128; i++) expect_equal("early exit", i, got[i], i < 64 ? 63 - i : -1);
    release(out);
    return finish("barrier_votes");
}

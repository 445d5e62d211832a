/**
 * Bitonic sort: the short strides in shared memory, the long ones by a launch each in global memory. Shown:
 * many dependent launches, exchanges between threads of a block with a barrier a step.
 *
 * K. E. Batcher, "Sorting networks and their applications", 1968.
 */
#include "../testing.h"

enum { THREADS = 128, COUNT = 2048 };

static __device__ void compare_exchange(unsigned *a, unsigned *b, bool ascending)
{
    if ((*a > *b) == ascending) {
        const unsigned t = *a;
        *a = *b;
        *b = t;
    }
}

static __global__ void exchange_kernel(unsigned *keys, /* [COUNT] */
                                       unsigned stride, unsigned size)
{
    const unsigned t = blockIdx.x * THREADS + threadIdx.x;
    const unsigned low = t / stride * 2 * stride + t % stride;
    compare_exchange(&keys[low], &keys[low + stride], (low & size) == 0);
}

/* All strides of one size that stay within 2 * THREADS elements. */
static __global__ void exchange_shared_kernel(unsigned *keys, /* [COUNT] */
                                              unsigned first_stride, unsigned size)
{
    __shared__ unsigned part[2 * THREADS];
    const unsigned base = blockIdx.x * 2 * THREADS, t = threadIdx.x;
    part[t] = keys[base + t];
    part[t + THREADS] = keys[base + t + THREADS];
    for (unsigned stride = first_stride; stride > 0; stride /= 2) {
        __syncthreads(); /* the exchanges of the stride before are done */
        const unsigned low = t / stride * 2 * stride + t % stride;
        compare_exchange(&part[low], &part[low + stride], ((base + low) & size) == 0);
    }
    __syncthreads(); /* the last exchanges are done */
    keys[base + t] = part[t];
    keys[base + t + THREADS] = part[t + THREADS];
}

static int ascending(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static unsigned host[COUNT], sorted[COUNT];
    unsigned state = 29;
    for (int i = 0; i < COUNT; i++) host[i] = next_random(&state) % 1500; /* some keys are equal */
    unsigned *keys = upload(host, COUNT);
    for (unsigned size = 2; size <= COUNT; size *= 2) {
        unsigned stride = size / 2;
        for (; stride > THREADS; stride /= 2) {
            exchange_kernel<<<COUNT / 2 / THREADS, THREADS>>>(keys, stride, size);
            require(cudaGetLastError(), "exchange_kernel");
        }
        exchange_shared_kernel<<<COUNT / 2 / THREADS, THREADS>>>(keys, stride, size);
        require(cudaGetLastError(), "exchange_shared_kernel");
    }
    finish_launch("exchange_shared_kernel");
    download(sorted, keys, COUNT);
    qsort(host, COUNT, sizeof *host, ascending);
    for (int i = 0; i < COUNT; i++) expect_equal("key", i, sorted[i], host[i]);
    release(keys);
    return finish("bitonic_sort");
}

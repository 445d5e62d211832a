// expect: none
/** Launches read what other blocks of the launch before wrote, and overwrite what it read. */
#include "detecting.h"

enum { THREADS = 32, BLOCKS = 4, COUNT = THREADS * BLOCKS };

static __global__ void shift_kernel(const int *from, int *to)
{
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    to[i] = from[(i + THREADS + 1) % COUNT];
}

int main(void)
{
    int host[COUNT];
    for (int i = 0; i < COUNT; i++) host[i] = i;
    int *first = upload(host, COUNT), *second = device_array<int>(COUNT);
    for (int round = 0; round < 3; round++) {
        shift_kernel<<<BLOCKS, THREADS>>>(first, second);
        shift_kernel<<<BLOCKS, THREADS>>>(second, first);
    }
    expect_outcome(cudaSuccess);
    download(host, first, COUNT);
    if (host[0] != 6 * (THREADS + 1) % COUNT) printf("host[0] is %d\n", host[0]);
    release(first);
    release(second);
    return 0;
}

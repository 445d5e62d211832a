// expect: none
/** Two shared buffers take turns, so that one barrier a step is enough. */
#include "detecting.h"

enum { THREADS = 64, STEPS = 5 };

static __global__ void rotate_kernel(int *out)
{
    __shared__ int buffers[2][THREADS];
    buffers[0][threadIdx.x] = (int)threadIdx.x;
    for (int step = 0; step < STEPS; step++) {
        __syncthreads(); /* the buffer read now is complete, the one written now is no longer read */
        buffers[(step + 1) % 2][threadIdx.x] = buffers[step % 2][(threadIdx.x + 1) % THREADS];
    }
    __syncthreads(); /* the last step is complete */
    out[threadIdx.x] = buffers[STEPS % 2][(threadIdx.x + 33) % THREADS];
}

int main(void)
{
    int *out = device_array<int>(THREADS);
    rotate_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}

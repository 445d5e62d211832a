// Step 1: the definition. One thread, one element of C; neighbouring threads are neighbours in a column, so
// the 32 lanes of a warp read 32 rows of A, and write 32 rows of C: a sector each.
#include "steps.h"

/** One thread, one element; a warp goes down a column. */
static __global__ void naive_kernel(struct matrices x)
{
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x), column = (int)blockIdx.y;
    if (row >= x.m || column >= x.n) return;
    float sum = 0.0f;
    for (int k = 0; k < x.k; k++) sum += x.a[(size_t)row * x.k + k] * x.b[(size_t)k * x.n + column];
    x.c[(size_t)row * x.n + column] = sum;
}

void step_naive(struct matrices x)
{
    dim3 grid(pieces(x.m, 256), (unsigned)x.n);
    naive_kernel<<<grid, 256>>>(x);
}

// Step 2: neighbouring threads become neighbours in a row. A warp's load from B is 4 sectors, its load from A
// a single one, and nothing else has changed.
#include "steps.h"

/** One thread, one element; a warp goes along a row. */
static __global__ void coalesced_kernel(struct matrices x)
{
    int row = (int)blockIdx.y, column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= x.m || column >= x.n) return;
    float sum = 0.0f;
    for (int k = 0; k < x.k; k++) sum += x.a[(size_t)row * x.k + k] * x.b[(size_t)k * x.n + column];
    x.c[(size_t)row * x.n + column] = sum;
}

void step_coalesced(struct matrices x)
{
    dim3 grid(pieces(x.n, 256), (unsigned)x.m);
    coalesced_kernel<<<grid, 256>>>(x);
}

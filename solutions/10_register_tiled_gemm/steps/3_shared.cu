// Step 3: lesson 02's tiles. A block reads 32 x 32 of A and of B once and uses each number 32 times. Two loads
// from shared memory feed each multiply-add.
#include "steps.h"

/** 32 x 32 of C per block, an element per thread. */
static __global__ void __launch_bounds__(1024) shared_kernel(struct matrices x)
{
    constexpr int TILE = 32;
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int i = (int)threadIdx.y, j = (int)threadIdx.x;
    int row = (int)blockIdx.y * TILE + i, column = (int)blockIdx.x * TILE + j;
    float sum = 0.0f;
    for (int first = 0; first < x.k; first += TILE) {
        a[i][j] = a_at(x, row, first + j);
        b[i][j] = b_at(x, first + i, column);
        __syncthreads(); // both tiles are complete before anybody multiplies
        for (int k = 0; k < TILE; k++) sum += a[i][k] * b[k][j];
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    if (row < x.m && column < x.n) x.c[(size_t)row * x.n + column] = sum;
}

void step_shared(struct matrices x)
{
    dim3 grid(pieces(x.n, 32), pieces(x.m, 32)), block(32, 32);
    shared_kernel<<<grid, block>>>(x);
}

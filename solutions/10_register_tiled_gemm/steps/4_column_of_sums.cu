// Step 4: a thread computes 8 elements of a column. A number of B, once in a register, is used 8 times: 9 loads
// from shared memory feed 8 multiply-adds.
#include "steps.h"

/** 64 x 64 of C per block, 8 x 1 per thread. */
static __global__ void __launch_bounds__(512) column_of_sums_kernel(struct matrices x)
{
    constexpr int TILE = 64, DEPTH = 8, SUMS = 8; // 64 x 64 of C, 512 threads
    __shared__ float a[TILE][DEPTH], b[DEPTH][TILE];
    int thread = (int)threadIdx.x, i = thread / TILE * SUMS, j = thread % TILE;
    int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
    float sum[SUMS] = {0.0f};
    for (int first = 0; first < x.k; first += DEPTH) {
        a[thread / DEPTH][thread % DEPTH] = a_at(x, row + thread / DEPTH, first + thread % DEPTH);
        b[thread / TILE][thread % TILE] = b_at(x, first + thread / TILE, column + thread % TILE);
        __syncthreads(); // both tiles are complete before anybody multiplies
        for (int k = 0; k < DEPTH; k++) {
            float of_b = b[k][j];
            for (int s = 0; s < SUMS; s++) sum[s] += a[i + s][k] * of_b;
        }
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    for (int s = 0; s < SUMS; s++)
        if (row + i + s < x.m && column + j < x.n) x.c[(size_t)(row + i + s) * x.n + column + j] = sum[s];
}

void step_column_of_sums(struct matrices x)
{
    dim3 grid(pieces(x.n, 64), pieces(x.m, 64));
    column_of_sums_kernel<<<grid, 512>>>(x);
}

// Step 5: 8 x 8 elements per thread. 16 loads from shared memory feed 64 multiply-adds.
#include "steps.h"

/** 128 x 128 of C per block, 8 x 8 per thread. */
static __global__ void __launch_bounds__(256) square_of_sums_kernel(struct matrices x)
{
    constexpr int TILE = 128, DEPTH = 8, SUMS = 8, THREADS = 256; // 128 x 128 of C
    __shared__ float a[TILE][DEPTH], b[DEPTH][TILE];
    int thread = (int)threadIdx.x, i = thread / (TILE / SUMS) * SUMS, j = thread % (TILE / SUMS) * SUMS;
    int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
    float sum[SUMS][SUMS] = {{0.0f}};
    for (int first = 0; first < x.k; first += DEPTH) {
        for (int at = thread; at < TILE * DEPTH; at += THREADS) {
            a[at / DEPTH][at % DEPTH] = a_at(x, row + at / DEPTH, first + at % DEPTH);
            b[at / TILE][at % TILE] = b_at(x, first + at / TILE, column + at % TILE);
        }
        __syncthreads(); // both tiles are complete before anybody multiplies
        for (int k = 0; k < DEPTH; k++) {
            float of_a[SUMS], of_b[SUMS];
            for (int s = 0; s < SUMS; s++) of_a[s] = a[i + s][k];
            for (int s = 0; s < SUMS; s++) of_b[s] = b[k][j + s];
            for (int s = 0; s < SUMS; s++)
                for (int t = 0; t < SUMS; t++) sum[s][t] += of_a[s] * of_b[t];
        }
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    for (int s = 0; s < SUMS; s++)
        for (int t = 0; t < SUMS; t++)
            if (row + i + s < x.m && column + j + t < x.n)
                x.c[(size_t)(row + i + s) * x.n + column + j + t] = sum[s][t];
}

void step_square_of_sums(struct matrices x)
{
    dim3 grid(pieces(x.n, 128), pieces(x.m, 128));
    square_of_sums_kernel<<<grid, 256>>>(x);
}

// Step 6: the same in vectors of four. A is transposed on its way into shared memory, so that a thread's 8 rows lie
// side by side there. 4 loads feed 64 multiply-adds; k and n must be multiples of 4.
#include "steps.h"

/** The same, read by 16 bytes. */
static __global__ void __launch_bounds__(256) vectors_kernel(struct matrices x)
{
    constexpr int TILE = 128, DEPTH = 8, SUMS = 8; // 128 x 128 of C, 256 threads
    __shared__ alignas(16) float a[DEPTH][TILE], b[DEPTH][TILE];
    int thread = (int)threadIdx.x, i = thread / (TILE / SUMS) * SUMS, j = thread % (TILE / SUMS) * SUMS;
    int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
    float sum[SUMS][SUMS] = {{0.0f}};
    for (int first = 0; first < x.k; first += DEPTH) {
        alignas(16) float along_k[4];
        *(float4 *)along_k = a_vector_at(x, row + thread / 2, first + thread % 2 * 4);
        for (int s = 0; s < 4; s++) a[thread % 2 * 4 + s][thread / 2] = along_k[s];
        *(float4 *)&b[thread / 32][thread % 32 * 4] =
            b_vector_at(x, first + thread / 32, column + thread % 32 * 4);
        __syncthreads(); // both tiles are complete before anybody multiplies
        for (int k = 0; k < DEPTH; k++) {
            alignas(16) float of_a[SUMS], of_b[SUMS];
            for (int s = 0; s < SUMS; s += 4) *(float4 *)&of_a[s] = *(const float4 *)&a[k][i + s];
            for (int s = 0; s < SUMS; s += 4) *(float4 *)&of_b[s] = *(const float4 *)&b[k][j + s];
            for (int s = 0; s < SUMS; s++)
                for (int t = 0; t < SUMS; t++) sum[s][t] += of_a[s] * of_b[t];
        }
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    for (int s = 0; s < SUMS; s++)
        for (int t = 0; t < SUMS; t += 4)
            if (row + i + s < x.m && column + j + t < x.n)
                *(float4 *)&x.c[(size_t)(row + i + s) * x.n + column + j + t] = *(float4 *)&sum[s][t];
}

void step_vectors(struct matrices x)
{
    dim3 grid(pieces(x.n, 128), pieces(x.m, 128));
    vectors_kernel<<<grid, 256>>>(x);
}

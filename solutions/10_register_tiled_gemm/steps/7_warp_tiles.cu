// Step 7: where a thread's sums lie. A warp has 64 x 32 of C, 8 lanes down and 4 across; a lane's 8 x 8 are
// groups of 4 x 4 between those of its neighbours, so that lanes read neighbouring vectors. Rows of the tile of
// A are padded for the stores. No bank conflict is left.
#include "steps.h"

/** The same, without bank conflicts. */
static __global__ void __launch_bounds__(256) warp_tiles_kernel(struct matrices x)
{
    constexpr int TILE = 128, DEPTH = 8, SUMS = 8, DOWN = 8, ACROSS = 4; // 128 x 128 of C, 256 threads
    __shared__ alignas(16) float a[DEPTH][TILE + 4], b[DEPTH][TILE];
    int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
    int i = warp / 4 * DOWN * SUMS + (lane % 2 + lane / 4 % 4 * 2) * 4;    // lanes i, i ^ 2 share a row
    int j = warp % 4 * ACROSS * SUMS + (lane / 2 % 2 + lane / 16 * 2) * 4; // lanes i, i ^ 1 a column
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
            for (int s = 0; s < SUMS; s += 4) *(float4 *)&of_a[s] = *(const float4 *)&a[k][i + s * DOWN];
            for (int s = 0; s < SUMS; s += 4) *(float4 *)&of_b[s] = *(const float4 *)&b[k][j + s * ACROSS];
            for (int s = 0; s < SUMS; s++)
                for (int t = 0; t < SUMS; t++) sum[s][t] += of_a[s] * of_b[t];
        }
        __syncthreads(); // everybody is done with them before the next ones take their place
    }
    for (int s = 0; s < SUMS; s++)
        for (int t = 0; t < SUMS; t += 4) {
            int r = row + i + s / 4 * 4 * DOWN + s % 4, c = column + j + t * ACROSS;
            if (r < x.m && c < x.n) *(float4 *)&x.c[(size_t)r * x.n + c] = *(float4 *)&sum[s][t];
        }
}

void step_warp_tiles(struct matrices x)
{
    dim3 grid(pieces(x.n, 128), pieces(x.m, 128));
    warp_tiles_kernel<<<grid, 256>>>(x);
}

/*
 * A correct solution of another shape: tiles of 16 x 16 in shared memory, and two sums per element, of the even and of the odd
 * k, so that the terms are added in another order.
 */
// covered-by: thread_per_element
#include "plain_gemm.h"

enum { TILE = 16, MOST_BLOCKS = 4096 };

template <typename T>
__device__ inline float element(const T *matrix, size_t line_step, size_t k_step, int line, int lines, int k,
                                int depth)
{
    return line < lines && k < depth ? plain_float(matrix[line * line_step + k * k_step]) : 0.0f;
}

template <typename T> __global__ void gemm_kernel(struct plain p)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    long long across = (p.args.n - 1) / TILE + 1, tiles = ((p.args.m - 1) / TILE + 1) * across;
    int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int row = (int)(tile / across) * TILE, column = (int)(tile % across) * TILE;
        float even = 0.0f, odd = 0.0f;
        for (int k = 0; k < p.k; k += TILE) {
            a[y][x] = element((const T *)p.args.a, p.a_line, p.a_p, row + y, p.args.m, k + x, p.k);
            b[y][x] = element((const T *)p.args.b, p.b_line, p.b_p, column + y, p.args.n, k + x, p.k);
            __syncthreads();
            for (int i = 0; i < TILE; i += 2) even += a[y][i] * b[x][i], odd += a[y][i + 1] * b[x][i + 1];
            __syncthreads();
        }
        if (y < p.args.m - row && x < p.args.n - column) plain_store<T>(p, row + y, column + x, even + odd);
    }
}

template <typename T> static void plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long tiles = ((long long)(p.args.m - 1) / TILE + 1) * ((p.args.n - 1) / TILE + 1);
    gemm_kernel<T>
        <<<(unsigned)(tiles < MOST_BLOCKS ? tiles : (long long)MOST_BLOCKS), TILE * TILE, 0, stream>>>(p);
}

/*
 * A correct solution of another shape: tiles of 32 x 32 in shared memory, four bytes along k in a word, multiplied four at a
 * time by __dp4a. No tensor cores. Blocks walk over the tiles.
 */
#include "plain_int8.h"

enum { TILE = 32, WORDS = 8, MOST_BLOCKS = 4096 };

__device__ inline int four_bytes(const int8_t *line, size_t step, int first, int k, int there)
{
    unsigned word = 0;
    for (int i = 0; i < 4; i++)
        if (there && first + i < k)
            word |= (unsigned)(unsigned char)line[(size_t)(first + i) * step] << (8 * i);
    return (int)word;
}

__global__ void gemm_kernel(struct plain p)
{
    __shared__ int a[TILE][WORDS + 1], b[TILE][WORDS + 1];
    const struct int8_gemm_args &args = p.args;
    long long across = (args.n - 1) / TILE + 1, tiles = ((long long)(args.m - 1) / TILE + 1) * across;
    int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE; // y: 8 rows of threads
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int row = (int)(tile / across) * TILE, column = (int)(tile % across) * TILE, sum[4] = {0, 0, 0, 0};
        for (int k = 0; k < args.k; k += 4 * WORDS) {
            int there_a = x < args.m - row, there_b = x < args.n - column;
            a[x][y] = four_bytes(args.a + (there_a ? (size_t)(row + x) * p.a_line : 0), p.a_p, k + 4 * y,
                                 args.k, there_a);
            b[x][y] = four_bytes(args.b + (there_b ? (size_t)(column + x) * p.b_line : 0), p.b_p, k + 4 * y,
                                 args.k, there_b);
            __syncthreads();
            for (int i = 0; i < 4; i++)
                for (int w = 0; w < WORDS; w++) sum[i] = __dp4a(a[y * 4 + i][w], b[x][w], sum[i]);
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            if (y * 4 + i < args.m - row && x < args.n - column)
                plain_store(p, row + y * 4 + i, column + x, sum[i]);
    }
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long tiles = ((long long)(p.args.m - 1) / TILE + 1) * ((p.args.n - 1) / TILE + 1);
    gemm_kernel<<<(unsigned)(tiles < MOST_BLOCKS ? tiles : (long long)MOST_BLOCKS), TILE * 8, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

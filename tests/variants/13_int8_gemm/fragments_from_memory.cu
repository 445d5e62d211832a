/*
 * A correct solution of another shape: tensor cores without shared memory. A warp has 16 x 8 elements of C, and each lane
 * puts its fragments together from single bytes of device memory.
 */
#include "plain_int8.h"

#include "warp_int8.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH = 32, LANES = 32, MOST_BLOCKS = 8192 };

/** Four neighbours along k of a line, zeros where there is nothing. */
__device__ inline uint32_t four_bytes(const int8_t *matrix, size_t line_step, size_t p_step, int line,
                                      int lines, int first, int k)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        if (line < lines && first + i < k)
            word |= (uint32_t)(uint8_t)matrix[(size_t)line * line_step + (size_t)(first + i) * p_step]
                    << 8 * i;
    return word;
}

__global__ void gemm_kernel(struct plain p)
{
    const struct int8_gemm_args &args = p.args;
    long long across = (args.n - 1) / COLUMNS + 1, tiles = ((long long)(args.m - 1) / ROWS + 1) * across;
    int g = (int)threadIdx.x / 4, q = (int)threadIdx.x % 4;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int row = (int)(tile / across) * ROWS, column = (int)(tile % across) * COLUMNS, sum[4] = {0, 0, 0, 0};
        for (int k = 0; k < args.k; k += DEPTH) {
            uint32_t a[4], b[2];
            for (int i = 0; i < 4; i++)
                a[i] = four_bytes(args.a + (size_t)row * p.a_line, p.a_line, p.a_p, g + i % 2 * 8,
                                  args.m - row, k + 4 * q + i / 2 * 16, args.k);
            for (int i = 0; i < 2; i++)
                b[i] = four_bytes(args.b + (size_t)column * p.b_line, p.b_line, p.b_p, g, args.n - column,
                                  k + 4 * q + i * 16, args.k);
            multiply_add(sum, a, b[0], b[1]);
        }
        for (int i = 0; i < 4; i++) {
            int r = g + i / 2 * 8, c = 2 * q + i % 2;
            if (r < args.m - row && c < args.n - column) plain_store(p, row + r, column + c, sum[i]);
        }
    }
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long tiles = ((long long)(p.args.m - 1) / ROWS + 1) * ((p.args.n - 1) / COLUMNS + 1);
    gemm_kernel<<<(unsigned)(tiles < MOST_BLOCKS ? tiles : (long long)MOST_BLOCKS), LANES, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/**
 * Matrix transpose through a tile in dynamic shared memory, padded by one column. Shown: 2D blocks, several
 * elements a thread, edges that are no multiple of the tile.
 */
#include "../testing.h"

enum { TILE = 32, ROWS_A_STEP = 8, TILE_BYTES = TILE * (TILE + 1) * (int)sizeof(float) };

static __global__ void transpose_kernel(const float *in, /* [rows, columns] */
                                        float *out,      /* [columns, rows] */
                                        int rows, int columns)
{
    extern __shared__ float tile[]; /* [TILE, TILE + 1] */
    int column = (int)(blockIdx.x * TILE + threadIdx.x), row = (int)(blockIdx.y * TILE + threadIdx.y);
    for (int y = 0; y < TILE; y += ROWS_A_STEP) {
        if (row + y < rows && column < columns) {
            tile[(threadIdx.y + y) * (TILE + 1) + threadIdx.x] = in[(size_t)(row + y) * columns + column];
        }
    }
    __syncthreads(); /* rows were written by other threads than read the columns */
    column = (int)(blockIdx.y * TILE + threadIdx.x);
    row = (int)(blockIdx.x * TILE + threadIdx.y);
    for (int y = 0; y < TILE; y += ROWS_A_STEP) {
        if (row + y < columns && column < rows) {
            out[(size_t)(row + y) * rows + column] = tile[threadIdx.x * (TILE + 1) + threadIdx.y + y];
        }
    }
}

static void run(int rows, int columns)
{
    const size_t count = (size_t)rows * columns;
    float *host = host_array<float>(count), *turned = host_array<float>(count);
    unsigned state = 3;
    for (size_t i = 0; i < count; i++) host[i] = next_float(&state);
    float *in = upload(host, count), *out = device_array<float>(count);
    const dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, ROWS_A_STEP);
    transpose_kernel<<<grid, block, TILE_BYTES>>>(in, out, rows, columns);
    finish_launch("transpose_kernel");
    download(turned, out, count);
    for (size_t i = 0; i < count; i++) {
        expect_close("out", i, turned[i], host[i % rows * columns + i / rows], 0.0);
    }
    release(in);
    release(out);
    free(host);
    free(turned);
}

int main(void)
{
    run(32, 32);
    run(33, 31);
    run(100, 67);
    run(1, 129);
    return finish("transpose");
}

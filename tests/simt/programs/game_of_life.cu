/**
 * Conway's game of life on a torus, bytes for cells, two boards that change places after every launch. Shown:
 * neighbouring bytes written by different threads, buffers in ping-pong across launches without a host
 * barrier.
 */
#include "../testing.h"

enum { WIDTH = 70, HEIGHT = 45, CELLS = WIDTH * HEIGHT, GENERATIONS = 12 };

static __host__ __device__ unsigned char next_cell(const unsigned char *board, int x, int y)
{
    int neighbours = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) continue;
            neighbours += board[(y + dy + HEIGHT) % HEIGHT * WIDTH + (x + dx + WIDTH) % WIDTH];
        }
    }
    return neighbours == 3 || (neighbours == 2 && board[y * WIDTH + x]);
}

static __global__ void generation_kernel(const unsigned char *now, /* [HEIGHT, WIDTH] */
                                         unsigned char *next)      /* [HEIGHT, WIDTH] */
{
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x),
              y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < WIDTH && y < HEIGHT) next[y * WIDTH + x] = next_cell(now, x, y);
}

int main(void)
{
    static unsigned char boards[2][CELLS], result[CELLS];
    unsigned state = 47;
    for (int i = 0; i < CELLS; i++) boards[0][i] = next_random(&state) % 3 == 0;
    unsigned char *now = upload(boards[0], CELLS), *next = device_array<unsigned char>(CELLS);
    const dim3 block(24, 4), grid((WIDTH + block.x - 1) / block.x, (HEIGHT + block.y - 1) / block.y);
    for (int generation = 0; generation < GENERATIONS; generation++) {
        generation_kernel<<<grid, block>>>(now, next);
        require(cudaGetLastError(), "generation_kernel");
        unsigned char *t = now;
        now = next;
        next = t;
        for (int i = 0; i < CELLS; i++) {
            boards[1 - generation % 2][i] = next_cell(boards[generation % 2], i % WIDTH, i / WIDTH);
        }
    }
    finish_launch("generation_kernel");
    download(result, now, CELLS);
    for (int i = 0; i < CELLS; i++) expect_equal("cell", i, result[i], boards[GENERATIONS % 2][i]);
    release(now);
    release(next);
    return finish("game_of_life");
}

/**
 * A 5 x 5 stencil on a picture whose sides are no multiple of the block, coefficients in constant memory, the
 * block's pixels and their border in shared memory. Shown: cudaMemcpyToSymbol, a second set of coefficients.
 */
#include "../testing.h"

enum { RADIUS = 2, SIDE = 2 * RADIUS + 1, TILE = 16, APRON = TILE + 2 * RADIUS, WIDTH = 75, HEIGHT = 50 };

static __constant__ float coefficients[SIDE][SIDE];

static __device__ float pixel(const float *in, int x, int y)
{
    return x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT ? 0.0f : in[y * WIDTH + x];
}

static __global__ void stencil_kernel(const float *in, /* [HEIGHT, WIDTH] */
                                      float *out)      /* [HEIGHT, WIDTH] */
{
    __shared__ float tile[APRON][APRON];
    const int left = (int)blockIdx.x * TILE - RADIUS, top = (int)blockIdx.y * TILE - RADIUS;
    for (int y = (int)threadIdx.y; y < APRON; y += TILE) {
        for (int x = (int)threadIdx.x; x < APRON; x += TILE) tile[y][x] = pixel(in, left + x, top + y);
    }
    __syncthreads(); /* the border was loaded by other threads */
    const int x = (int)(blockIdx.x * TILE + threadIdx.x), y = (int)(blockIdx.y * TILE + threadIdx.y);
    if (x < WIDTH && y < HEIGHT) {
        float sum = 0.0f;
        for (int dy = 0; dy < SIDE; dy++) {
            for (int dx = 0; dx < SIDE; dx++) {
                sum += coefficients[dy][dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
            }
        }
        out[y * WIDTH + x] = sum;
    }
}

static double reference(const float *in, const float weights[SIDE][SIDE], int x, int y)
{
    double sum = 0.0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            if (x + dx < 0 || x + dx >= WIDTH || y + dy < 0 || y + dy >= HEIGHT) continue;
            sum += (double)weights[dy + RADIUS][dx + RADIUS] * in[(y + dy) * WIDTH + x + dx];
        }
    }
    return sum;
}

int main(void)
{
    static float host[HEIGHT * WIDTH], result[HEIGHT * WIDTH];
    const dim3 grid((WIDTH + TILE - 1) / TILE, (HEIGHT + TILE - 1) / TILE), block(TILE, TILE);
    unsigned state = 17;
    for (int i = 0; i < HEIGHT * WIDTH; i++) host[i] = next_float(&state);
    float *in = upload(host, HEIGHT * WIDTH), *out = device_array<float>(HEIGHT * WIDTH);
    for (int round = 0; round < 2; round++) {
        float weights[SIDE][SIDE], back[SIDE][SIDE];
        for (int i = 0; i < SIDE * SIDE; i++) weights[i / SIDE][i % SIDE] = next_float(&state);
        require(cudaMemcpyToSymbol(coefficients, weights, sizeof weights), "cudaMemcpyToSymbol");
        require(cudaMemcpyFromSymbol(back, coefficients, sizeof back), "cudaMemcpyFromSymbol");
        for (int i = 0; i < SIDE * SIDE; i++) {
            expect_close("coefficients", i, back[i / SIDE][i % SIDE], weights[i / SIDE][i % SIDE], 0.0);
        }
        stencil_kernel<<<grid, block>>>(in, out);
        finish_launch("stencil_kernel");
        download(result, out, HEIGHT * WIDTH);
        for (int i = 0; i < HEIGHT * WIDTH; i++) {
            expect_close("out", i, result[i], reference(host, weights, i % WIDTH, i / WIDTH), 1e-5);
        }
    }
    release(in);
    release(out);
    return finish("stencil");
}

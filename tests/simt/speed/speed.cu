/**
 * @file speed.cu
 * @brief What checked runs cost, on three programs that everybody knows: run by measure.sh.
 *
 *     simtcc speed.cu -o speed && ./speed add 16        a vector add of 16 M floats
 *                                 ./speed sgemm 256     a tiled product of 256 x 256 matrices
 *                                 ./speed attention 2 1024 64   heads, length, head dimension: scores, softmax, values
 *
 * Prints how much device memory it asked for. It must end without a finding.
 */
#include "../testing.h"

#include <string.h>

enum { TILE = 16, THREADS = 256 };

static size_t g_device_bytes;

static float *filled(size_t count)
{
    float *host = host_array<float>(count);
    unsigned state = 1;
    for (size_t i = 0; i < count; i++) host[i] = next_float(&state);
    float *device = upload(host, count);
    free(host);
    g_device_bytes += count * sizeof(float);
    return device;
}

static float *space(size_t count)
{
    g_device_bytes += count * sizeof(float);
    return device_array<float>(count);
}

/* ---- vector add ---------------------------------------------------------------------------------------- */

static __global__ void add_kernel(const float *a, const float *b, float *c, size_t count)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] + b[i];
}

static void add(size_t count)
{
    float *a = filled(count), *b = filled(count), *c = space(count);
    add_kernel<<<(unsigned)((count + THREADS - 1) / THREADS), THREADS>>>(a, b, c, count);
    finish_launch("add_kernel");
    release(a);
    release(b);
    release(c);
}

/* ---- matrix product ------------------------------------------------------------------------------------ */

/** c = a b, each n x n: a thread computes an element from tiles in shared memory. */
static __global__ void sgemm_kernel(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        tile_a[y][x] = a[row * n + k + x];
        tile_b[y][x] = b[(k + y) * n + column];
        __syncthreads(); /* the tiles are complete */
        for (int i = 0; i < TILE; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads(); /* nobody needs them any more */
    }
    c[row * n + column] = sum;
}

static void sgemm(int n)
{
    const size_t count = (size_t)n * n;
    float *a = filled(count), *b = filled(count), *c = space(count);
    sgemm_kernel<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, b, c, n);
    finish_launch("sgemm_kernel");
    release(a);
    release(b);
    release(c);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

/** A block computes a row: scores, their maximum and sum, and the weighted values. */
static __global__ void attention_kernel(const float *q, const float *k, const float *v, float *out,
                                        int length, int dim)
{
    extern __shared__ float scores[];
    __shared__ float warps[THREADS / 32];
    const size_t head = (size_t)blockIdx.y * length * dim;
    const float *row = q + head + (size_t)blockIdx.x * dim;
    float largest = -1e30f, sum = 0.0f;
    for (int j = threadIdx.x; j < length; j += THREADS) {
        float score = 0.0f;
        for (int i = 0; i < dim; i++) score += row[i] * k[head + (size_t)j * dim + i];
        scores[j] = score;
        largest = fmaxf(largest, score);
    }
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, o));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = largest;
    __syncthreads(); /* scores and the warps' maxima are there */
    for (int i = 0; i < THREADS / 32; i++) largest = fmaxf(largest, warps[i]);
    for (int j = threadIdx.x; j < length; j += THREADS) scores[j] = expf(scores[j] - largest);
    __syncthreads(); /* the weights are there */
    for (int j = 0; j < length; j++) sum += scores[j];
    for (int i = threadIdx.x; i < dim; i += THREADS) {
        float value = 0.0f;
        for (int j = 0; j < length; j++) value += scores[j] * v[head + (size_t)j * dim + i];
        out[head + (size_t)blockIdx.x * dim + i] = value / sum;
    }
}

static void attention(int heads, int length, int dim)
{
    const size_t count = (size_t)heads * length * dim;
    float *q = filled(count), *k = filled(count), *v = filled(count), *out = space(count);
    attention_kernel<<<dim3(length, heads), THREADS, length * sizeof(float)>>>(q, k, v, out, length, dim);
    finish_launch("attention_kernel");
    release(q);
    release(k);
    release(v);
    release(out);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "add") == 0) {
        add((size_t)atoi(argv[2]) << 20);
    } else if (argc == 3 && strcmp(argv[1], "sgemm") == 0 && atoi(argv[2]) % TILE == 0) {
        sgemm(atoi(argv[2]));
    } else if (argc == 5 && strcmp(argv[1], "attention") == 0) {
        attention(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    } else {
        fprintf(stderr, "usage: %s add MILLIONS | sgemm N | attention HEADS LENGTH DIM\n", argv[0]);
        return 2;
    }
    printf("%zu bytes on the device\n", g_device_bytes);
    return finish(argv[1]);
}

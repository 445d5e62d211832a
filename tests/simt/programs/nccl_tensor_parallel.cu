// with: SIMT_DEVICES=4
/*
 * A layer of a decoder for one token, tensor-parallel: each rank holds some of the heads and some of the hidden units. The first matrix
 * of each half is cut into columns, so that each rank makes what only it needs; the second one into rows, so that the ranks' results
 * are partial sums, which an all-reduce adds: two all-reduces a layer. On 1, 2 and 4 devices the result is that of double
 * arithmetic, the same bits each time, and each rank sends 2 (N - 1) / N of the sums' bytes. Link with -lnccl.
 */
#include "../nccl_ranks.h"

#include <string.h>

enum { BATCH = 3, WIDTH = 64, HEADS = 4, DIM = 16, KEYS = 20, HIDDEN = 128, THREADS = 64 };

/** The layer's weights, row-major, and its cache. */
struct layer {
    float qw[WIDTH * WIDTH];    /* [WIDTH, HEADS * DIM] */
    float ow[WIDTH * WIDTH];    /* [HEADS * DIM, WIDTH] */
    float up[WIDTH * HIDDEN];   /* [WIDTH, HIDDEN] */
    float down[HIDDEN * WIDTH]; /* [HIDDEN, WIDTH] */
    float k[BATCH * HEADS * KEYS * DIM], v[BATCH * HEADS * KEYS * DIM];
    float x[BATCH * WIDTH];
};

struct task {
    const struct layer *layer;
    float *out[MOST_RANKS]; /* [BATCH, WIDTH], the same on all ranks */
};

/** y = x W, a thread per element; with a gate, x / (1 + exp(-x)) of it. */
static __global__ void product_kernel(float *y,       /* [BATCH, columns] */
                                      const float *x, /* [BATCH, rows] */
                                      const float *w, /* [rows, columns] */
                                      int rows, int columns, int gated)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= BATCH * columns) return;
    float sum = 0;
    for (int r = 0; r < rows; r++) sum += x[i / columns * rows + r] * w[r * columns + i % columns];
    y[i] = gated ? sum / (1 + expf(-sum)) : sum;
}

/** Attention of one query to the cache, a thread per head. */
static __global__ void attention_kernel(float *out,     /* [BATCH, heads, DIM] */
                                        const float *q, /* [BATCH, heads, DIM] */
                                        const float *k, /* [BATCH, heads, KEYS, DIM] */
                                        const float *v, int heads)
{
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= BATCH * heads) return;
    float score[KEYS], maximum = -INFINITY, sum = 0;
    for (int j = 0; j < KEYS; j++) {
        score[j] = 0;
        for (int d = 0; d < DIM; d++) score[j] += 0.25f * q[row * DIM + d] * k[(row * KEYS + j) * DIM + d];
        maximum = fmaxf(maximum, score[j]);
    }
    for (int j = 0; j < KEYS; j++) sum += score[j] = expf(score[j] - maximum);
    for (int d = 0; d < DIM; d++) {
        float value = 0;
        for (int j = 0; j < KEYS; j++) value += score[j] * v[(row * KEYS + j) * DIM + d];
        out[row * DIM + d] = value / sum;
    }
}

static __global__ void add_kernel(float *x, const float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < BATCH * WIDTH) x[i] += y[i];
}

/** Columns [first, first + count) of a matrix, or with width = all columns, rows. */
static float *upload_columns(const float *matrix, int rows, int columns, int first, int count)
{
    float *part = host_array<float>((size_t)rows * (size_t)count);
    for (int r = 0; r < rows; r++)
        memcpy(part + r * count, matrix + r * columns + first, (size_t)count * sizeof(float));
    float *device = upload(part, (size_t)rows * (size_t)count);
    free(part);
    return device;
}

static void multiply(struct rank *r, float *y, const float *x, const float *w, int rows, int columns,
                     int gated)
{
    const int blocks = (BATCH * columns + THREADS - 1) / THREADS;
    product_kernel<<<blocks, THREADS, 0, r->compute>>>(y, x, w, rows, columns, gated);
}

/** The ranks' partial sums are added to x. */
static void add_partial_sums(struct rank *r, float *x, float *partial)
{
    require_nccl(ncclAllReduce(partial, partial, BATCH * WIDTH, ncclFloat, ncclSum, r->comm, r->compute),
                 "all-reduce");
    add_kernel<<<(BATCH * WIDTH + THREADS - 1) / THREADS, THREADS, 0, r->compute>>>(x, partial);
}

static void step(struct rank *r)
{
    const struct task *task = (const struct task *)r->task;
    const struct layer *l = task->layer;
    const int n = r->ranks, heads = HEADS / n, own = heads * DIM, hidden = HIDDEN / n,
              cached = HEADS * KEYS * DIM;
    float *qw = upload_columns(l->qw, WIDTH, WIDTH, r->rank * own, own),
          *ow = upload(l->ow + r->rank * own * WIDTH, (size_t)(own * WIDTH)),
          *up = upload_columns(l->up, WIDTH, HIDDEN, r->rank * hidden, hidden),
          *down = upload(l->down + r->rank * hidden * WIDTH, (size_t)(hidden * WIDTH)),
          *k = upload_columns(l->k, BATCH, cached, r->rank * cached / n, cached / n),
          *v = upload_columns(l->v, BATCH, cached, r->rank * cached / n, cached / n),
          *x = upload(l->x, BATCH * WIDTH), *q = device_array<float>((size_t)(BATCH * own)),
          *attended = device_array<float>((size_t)(BATCH * own)),
          *inner = device_array<float>((size_t)(BATCH * hidden)),
          *partial = device_array<float>(BATCH * WIDTH);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    multiply(r, q, x, qw, WIDTH, own, 0);
    attention_kernel<<<1, THREADS, 0, r->compute>>>(attended, q, k, v, heads);
    multiply(r, partial, attended, ow, own, WIDTH, 0);
    add_partial_sums(r, x, partial);
    multiply(r, inner, x, up, WIDTH, hidden, 1);
    multiply(r, partial, inner, down, hidden, WIDTH, 0);
    add_partial_sums(r, x, partial);
    require(cudaGetLastError(), "kernels");
    require(cudaStreamSynchronize(r->compute), "cudaStreamSynchronize");
    download(task->out[r->rank], x, BATCH * WIDTH);
    float *const all[] = {qw, ow, up, down, k, v, x, q, attended, inner, partial};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) release(all[i]);
}

/* ---- the same in double --------------------------------------------------------------------------------- */

static void product(double *y, const double *x, const float *w, int rows, int columns)
{
    for (int c = 0; c < columns; c++) {
        y[c] = 0;
        for (int r = 0; r < rows; r++) y[c] += x[r] * w[r * columns + c];
    }
}

static void attention(double *out, const double *q, const float *k, const float *v)
{
    double weight[KEYS], sum = 0;
    for (int j = 0; j < KEYS; j++) {
        weight[j] = 0;
        for (int d = 0; d < DIM; d++) weight[j] += 0.25 * q[d] * k[j * DIM + d];
        sum += weight[j] = exp(weight[j]);
    }
    for (int d = 0; d < DIM; d++) {
        out[d] = 0;
        for (int j = 0; j < KEYS; j++) out[d] += weight[j] / sum * v[j * DIM + d];
    }
}

static void reference(const struct layer *l, int b, double *x)
{
    double q[WIDTH], attended[WIDTH], inner[HIDDEN], y[WIDTH];
    for (int i = 0; i < WIDTH; i++) x[i] = l->x[b * WIDTH + i];
    product(q, x, l->qw, WIDTH, WIDTH);
    for (int h = 0; h < HEADS; h++)
        attention(attended + h * DIM, q + h * DIM, l->k + (b * HEADS + h) * KEYS * DIM,
                  l->v + (b * HEADS + h) * KEYS * DIM);
    product(y, attended, l->ow, WIDTH, WIDTH);
    for (int i = 0; i < WIDTH; i++) x[i] += y[i];
    product(inner, x, l->up, WIDTH, HIDDEN);
    for (int i = 0; i < HIDDEN; i++) inner[i] /= 1 + exp(-inner[i]);
    product(y, inner, l->down, HIDDEN, WIDTH);
    for (int i = 0; i < WIDTH; i++) x[i] += y[i];
}

int main(void)
{
    static struct layer layer;
    static float out[2][MOST_RANKS][BATCH * WIDTH];
    struct task task[2];
    unsigned state = 7;
    int devices;
    float *number = (float *)&layer;
    for (size_t i = 0; i < sizeof layer / sizeof *number; i++) number[i] = 0.3f * next_float(&state);
    for (int t = 0; t < 2; t++) {
        task[t].layer = &layer;
        for (int r = 0; r < MOST_RANKS; r++) task[t].out[r] = out[t][r];
    }
    require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int ranks = 1; ranks <= devices && ranks <= MOST_RANKS; ranks *= 2) {
        const long long bytes = 2 * 2LL * (ranks - 1) * BATCH * WIDTH * (long long)sizeof(float) / ranks;
        for (int t = 0; t < 2; t++) run_ranks(ranks, step, &task[t], bytes);
        for (int b = 0; b < BATCH; b++) {
            double expected[WIDTH];
            reference(&layer, b, expected);
            for (int i = 0; i < WIDTH; i++)
                expect_close("x", (size_t)i, out[0][0][b * WIDTH + i], expected[i], 2e-5);
        }
        for (int r = 0; r < ranks; r++) {
            expect_equal("the same on all ranks", (size_t)r, memcmp(out[0][0], out[0][r], sizeof out[0][0]),
                         0);
            expect_equal("the same bits again", (size_t)r, memcmp(out[0][r], out[1][r], sizeof out[0][0]), 0);
        }
    }
    return finish("nccl_tensor_parallel");
}

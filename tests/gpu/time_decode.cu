// Times steps of lesson 07 on a GPU, without the checker: launched one by one, and replayed.
//
//   nvcc -O3 -std=c++17 -arch=native -Icommon/contracts -Icommon/decode -Ilessons/07_cuda_graph tests/gpu/time_decode.cu -o /tmp/time_decode && /tmp/time_decode
//
// Models of random weights. Four steps in a row at a context of a few or of 300 tokens, the L2 cache flushed before; of 16
// such runs the first does not count, and the median of the others is printed for one step. Both ways must give the same logits.
#include "../../solutions/07_cuda_graph/cuda_graph.cu"

#include <stdio.h>

enum { STEPS = 4, TIMED = 15, PAGE = 16, FLUSH_BYTES = 128 << 20 };

static __global__ void fill(__half *to, size_t count, float scale)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned x = (unsigned)i * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        to[i] = __float2half(scale * ((float)((x ^ x >> 13) & 0xffff) / 32768.0f - 1.0f));
    }
}

/** Device memory; ends the program without. */
static void *reserve(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
    fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(cudaGetLastError()));
    exit(2);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** What a step needs. */
struct scene {
    struct decode_model model;
    struct decode_buffers buffers;
    struct decode_batch batch;
    struct decode_graphs *graphs;
    cudaStream_t stream;
    void *flush;
};

/** Microseconds of a step, and a sum over its logits that tells whether they are the same. */
static float time_step(const struct scene *s, int replay, double *sum)
{
    float ms[TIMED], *logits;
    cudaEvent_t begin, end;
    size_t elems = (size_t)s->batch.rows * (size_t)s->model.config.vocab;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    for (int i = -1; i < TIMED; i++) {
        cudaMemsetAsync(s->flush, 0, FLUSH_BYTES, s->stream);
        cudaEventRecord(begin, s->stream);
        for (int step = 0; step < STEPS; step++) {
            enum kernel_status status = replay
                                            ? decode_graphs_step(s->graphs, &s->batch, s->stream)
                                            : decode_step_eager(&s->model, &s->buffers, &s->batch, s->stream);
            if (status != KERNEL_OK) exit(1);
        }
        cudaEventRecord(end, s->stream);
        if (cudaEventSynchronize(end) != cudaSuccess) exit(1);
        if (i >= 0) cudaEventElapsedTime(&ms[i], begin, end);
    }
    qsort(ms, TIMED, sizeof ms[0], by_size);
    logits = (float *)malloc(elems * sizeof(float));
    cudaMemcpy(logits, s->batch.logits, elems * sizeof(float), cudaMemcpyDeviceToHost);
    *sum = 0.0;
    for (size_t i = 0; i < elems; i++) *sum += (double)logits[i] * (double)(i % 13 + 1);
    free(logits);
    return ms[TIMED / 2] * 1000.0f / STEPS;
}

/** Tokens, positions and block table of @p rows sequences of @p context tokens. */
static void set_batch(struct scene *s, int rows, int context)
{
    int pages = s->model.config.max_blocks, total = rows * (2 + pages);
    int *host = (int *)malloc((size_t)total * sizeof(int)),
        *device = (int *)reserve((size_t)total * sizeof(int));
    for (int r = 0; r < rows; r++) {
        host[r] = r * 7 % s->model.config.vocab;
        host[rows + r] = context - 1;
        for (int p = 0; p < pages; p++) host[2 * rows + r * pages + p] = r * pages + p;
    }
    cudaMemcpy(device, host, (size_t)total * sizeof(int), cudaMemcpyHostToDevice);
    free(host);
    s->batch.rows = rows;
    s->batch.tokens = device, s->batch.positions = device + rows, s->batch.block_table = device + 2 * rows;
    s->batch.logits = (float *)reserve((size_t)rows * (size_t)s->model.config.vocab * sizeof(float));
}

static void time_model(struct decode_config c, int rows, int context)
{
    struct scene s = {};
    double eager_sum, replay_sum;
    c.max_rows = rows, c.block_size = PAGE, c.max_blocks = (context + PAGE) / PAGE;
    c.scratch_block = rows * c.max_blocks, c.num_blocks = c.scratch_block + rows;
    size_t weight_elems = decode_model_at(&c, NULL, &s.model), cache_elems = decode_cache_elems(&c);
    __half *weights = (__half *)reserve(2 * weight_elems), *cache = (__half *)reserve(2 * cache_elems);
    fill<<<1024, 256>>>(weights, weight_elems, 0.05f);
    fill<<<1024, 256>>>(cache, cache_elems, 1.0f);
    decode_model_at(&c, (const decode_half *)weights, &s.model);
    void *memory = reserve(decode_buffers_at(&c, NULL, cache, &s.buffers));
    decode_buffers_at(&c, memory, cache, &s.buffers);
    set_batch(&s, rows, context);
    s.flush = reserve(FLUSH_BYTES);
    cudaDeviceSynchronize();
    cudaStreamCreate(&s.stream);
    if (decode_graphs_create(&s.model, &s.buffers, s.stream, &s.graphs) != KERNEL_OK) exit(1);
    float eager = time_step(&s, 0, &eager_sum), replay = time_step(&s, 1, &replay_sum);
    printf("%d layers, hidden %d, %d rows, %d tokens: eager %.1f us, replay %.1f us, %.2f times, %.2f us a "
           "node; logits %s\n",
           c.layers, c.hidden, rows, context, eager, replay, eager / replay,
           replay / (float)(5 * c.layers + 2), eager_sum == replay_sum ? "the same" : "DIFFER");
    decode_graphs_destroy(s.graphs);
    cudaStreamDestroy(s.stream);
    cudaFree(weights), cudaFree(cache), cudaFree(memory), cudaFree(s.flush);
    cudaFree((void *)s.batch.tokens), cudaFree(s.batch.logits);
}

int main(void)
{
    /* layers, hidden, heads, K/V heads, head_dim, intermediate, vocabulary */
    time_model({8, 256, 8, 2, 32, 512, 512}, 1, 4);
    time_model({8, 1024, 16, 8, 64, 1024, 1024}, 1, 4);
    time_model({8, 1024, 16, 8, 64, 1024, 1024}, 1, 300);
    time_model({8, 1024, 16, 8, 64, 1024, 1024}, 8, 4);
    time_model({28, 256, 8, 2, 32, 512, 512}, 1, 4);
    time_model({28, 1024, 16, 8, 128, 3072, 1024}, 1, 4);
    time_model({2, 4096, 32, 8, 128, 12288, 1024}, 1, 4);
    return 0;
}

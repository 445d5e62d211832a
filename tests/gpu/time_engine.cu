// Times steps of lesson 17 on a GPU, without the checker: replays of a graph, as an engine makes them.
//
//   nvcc -O3 -std=c++17 -arch=sm_90a -Icommon/contracts -Icommon/decode -Ilessons/17_decode_engine tests/gpu/time_engine.cu -lcuda -o /tmp/time_engine
//   /tmp/time_engine 0.6B && /tmp/time_engine 8B
//
// Weights and cache are random, with all layers and words of Qwen3-0.6B and Qwen3-8B. Rows of one token each have a context of
// their own, its blocks scattered; a prompt's rows are of one request. Logits of all rows, of a prompt of the last, are computed;
// sampling and copies are not timed. Median of 11 times five replays. The bound is the weights once at 4,260 GB/s.
#include "../../solutions/17_decode_engine/decode_engine.cu"

#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 512, PAGE = 16, PAGES = 1024, TIMED = 11, REPLAYS = 5 };

static __global__ void fill(__half *to, size_t count, float scale)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned x = (unsigned)i * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        to[i] = __float2half(scale * ((float)((x ^ x >> 13) & 0xffff) / 32768.0f - 1.0f));
    }
}

static void need(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "time_engine: %s\n", cudaGetErrorString(error));
    exit(2);
}

/** Device memory; ends the program without. */
static void *reserve(size_t bytes)
{
    void *memory = NULL;
    need(cudaMalloc(&memory, bytes));
    return memory;
}

static __half *random_halves(size_t count, float scale)
{
    __half *halves = (__half *)reserve(count * sizeof *halves);
    fill<<<1024, 256>>>(halves, count, scale);
    return halves;
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static struct engine_config shapes(int large)
{
    struct engine_config c = {};
    c.layers = large ? 36 : 28, c.hidden = large ? 4096 : 1024, c.heads = large ? 32 : 16, c.kv_heads = 8;
    c.head_dim = 128, c.intermediate = large ? 12288 : 3072, c.vocab = 151936, c.tied = !large;
    c.epsilon = 1e-6f, c.rope_base = 1e6f, c.max_rows = MOST_ROWS;
    c.block_size = PAGE, c.max_blocks = PAGES, c.num_blocks = 4 * PAGES;
    return c;
}

/** Microseconds of a step of @p rows rows: tokens at @p context, or, of a prompt, at 0 .. rows - 1 of one request. */
static float time_step(const struct engine_model *model, int rows, int context, int prompt, int *device,
                       float *logits)
{
    static int host[4 * MOST_ROWS + 64 * PAGES];
    const int requests = prompt ? 1 : rows;
    for (int i = 0; i < rows; i++) {
        host[i] = i * 37 + 5;
        host[MOST_ROWS + i] = prompt ? i : context - 1;
        host[2 * MOST_ROWS + i] = prompt ? 0 : i;
        host[3 * MOST_ROWS + i] = prompt ? rows - 1 : i;
    }
    for (int i = 0; i < requests * PAGES; i++)
        host[4 * MOST_ROWS + i] = (int)(((unsigned)i * 2654435761u >> 7) % (4 * PAGES));
    need(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    const struct engine_batch batch = {rows,
                                       prompt ? 1 : rows,
                                       device,
                                       device + MOST_ROWS,
                                       device + 2 * MOST_ROWS,
                                       device + 4 * MOST_ROWS,
                                       device + 3 * MOST_ROWS,
                                       logits};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    float us[TIMED];
    need(cudaStreamCreate(&stream));
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const enum kernel_status status = engine_step(model, &batch, stream);
    need(cudaStreamEndCapture(stream, &graph));
    if (status != KERNEL_OK) fprintf(stderr, "time_engine: %s\n", kernel_status_name(status)), exit(2);
    need(cudaGraphInstantiate(&exec, graph, 0));
    need(cudaEventCreate(&begin)), need(cudaEventCreate(&end));
    need(cudaGraphLaunch(exec, stream));
    for (int i = 0; i < TIMED; i++) {
        need(cudaEventRecord(begin, stream));
        for (int j = 0; j < REPLAYS; j++) need(cudaGraphLaunch(exec, stream));
        need(cudaEventRecord(end, stream));
        need(cudaEventSynchronize(end));
        need(cudaEventElapsedTime(&us[i], begin, end));
        us[i] *= 1000.0f / REPLAYS;
    }
    qsort(us, TIMED, sizeof us[0], by_size);
    need(cudaGraphExecDestroy(exec)), need(cudaGraphDestroy(graph)), need(cudaStreamDestroy(stream));
    return us[TIMED / 2];
}

int main(int count, char **words)
{
    const int large = count > 1 && strcmp(words[1], "8B") == 0;
    struct engine_model model = {};
    model.config = shapes(large);
    const struct engine_config *c = &model.config;
    model.weights = random_halves(engine_weight_elems(c), 0.03f);
    model.cache = random_halves(engine_cache_elems(c), 1.0f);
    model.workspace_bytes = engine_workspace_bytes(c);
    model.workspace = reserve(model.workspace_bytes);
    int *device = (int *)reserve((4 * MOST_ROWS + 64 * PAGES) * sizeof(int));
    float *logits = (float *)reserve(64 * (size_t)c->vocab * sizeof(float));
    const size_t read = engine_weight_elems(c) - (c->tied ? 0 : engine_embedding_elems(c));
    const double bound = 2.0 * (double)read / 4260e3;
    static const int STEPS[][2] = {{1, 128}, {1, 1024}, {1, 4096}, {1, 16384}, {2, 128},  {4, 128},
                                   {8, 128}, {8, 4096}, {16, 128}, {32, 128},  {64, 128}, {64, 1024}};
    printf("model,what,rows,context,us,tokens_per_s,share_of_bound\n");
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        const double us = time_step(&model, STEPS[i][0], STEPS[i][1], 0, device, logits);
        printf("%s,decode,%d,%d,%.1f,%.1f,%.3f\n", large ? "8B" : "0.6B", STEPS[i][0], STEPS[i][1], us,
               STEPS[i][0] * 1e6 / us, bound / us);
    }
    const double us = time_step(&model, 512, 0, 1, device, logits);
    const double flop = 2.0 * 512.0 * (double)(read - (size_t)c->vocab * (size_t)c->hidden);
    printf("%s,prefill,512,0,%.1f,%.1f,\n", large ? "8B" : "0.6B", us, 512e6 / us);
    fprintf(stderr, "prefill of 512: %.1f TFLOP/s in products\n", flop / us * 1e-6);
    return 0;
}

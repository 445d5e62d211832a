// Lesson 17's engine under load on a GPU: what `warpwise serve-bench` models, with steps that run.
//
//   for f in engine/scheduler engine/block_pool engine/load base/text base/rng base/parallel; do gcc -O2 -std=c11 -Icommon -c common/$f.c -o /tmp/${f##*/}.o; done
//   nvcc -O3 -std=c++17 -arch=sm_90a -Icommon -Icommon/contracts -Icommon/decode -Ilessons/17_decode_engine tests/gpu/serve_load.cu \
//       /tmp/{scheduler,block_pool,load,text,rng,parallel}.o -lcuda -lpthread -o /tmp/serve_load
//   /tmp/serve_load 0.6B 300 0.6 0 && /tmp/serve_load 8B 150 0.6 0.6 0.4     # model, requests, spread of lengths, common share of
//                                                                         # prompts, least share of the limit
//
// Requests, blocks and steps are those of common/engine. The clock of the load is advanced by what each step took on the GPU: from the
// copy of its rows to the device until the stream is done; logits are computed, but neither copied nor sampled. Steps without a piece
// of a prompt are replays of a graph, captured before the time begins. Weights are random, with the sizes of Qwen3-0.6B and Qwen3-8B.
//
// The limit is calculated as serve-bench does it (find_limit in common/companion/serve_bench.c), from steps measured one at a time:
// B tokens over keys of the mean length, and what each piece of each prompt adds to that.
#include "../../solutions/17_decode_engine/decode_engine.cu"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern "C" {
#include "engine/load.h"
}

enum {
    BLOCK = 16,
    LONGEST = 2048,
    TABLE = 2 * LONGEST / BLOCK,
    RUNNING = 64,
    ROWS = 512,
    BLOCKS = 6000,
    AGAIN = 3
};

static void need(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "serve_load: %s\n", cudaGetErrorString(error));
    exit(2);
}

static __global__ void fill(__half *to, size_t count, float scale)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned x = (unsigned)i * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        to[i] = __float2half(scale * ((float)((x ^ x >> 13) & 0xffff) / 32768.0f - 1.0f));
    }
}

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

/** What steps need. The arrays of the host lie as engine_batch names them: tokens, positions, requests, wanted rows, tables. */
struct engine {
    struct engine_model model;
    int *host, *device;
    float *logits;
    cudaStream_t stream;
    cudaGraphExec_t graphs[RUNNING + 1]; /**< of so many rows, all wanted */
};

enum { WORDS = 4 * ROWS + RUNNING * TABLE };

static void launch(const struct engine *e, int rows, int wanted)
{
    int *d = e->device;
    const struct engine_batch batch = {rows,         wanted,       d,        d + ROWS, d + 2 * ROWS,
                                       d + 4 * ROWS, d + 3 * ROWS, e->logits};
    const enum kernel_status status = engine_step(&e->model, &batch, e->stream);
    if (status != KERNEL_OK) fprintf(stderr, "serve_load: %s\n", kernel_status_name(status)), exit(2);
}

static void open_engine(struct engine *e, int large)
{
    struct engine_config *c = &e->model.config;
    c->layers = large ? 36 : 28, c->hidden = large ? 4096 : 1024, c->heads = large ? 32 : 16, c->kv_heads = 8;
    c->head_dim = 128, c->intermediate = large ? 12288 : 3072, c->vocab = 151936, c->tied = !large;
    c->epsilon = 1e-6f, c->rope_base = 1e6f, c->max_rows = ROWS;
    c->block_size = BLOCK, c->max_blocks = TABLE, c->num_blocks = BLOCKS;
    e->model.weights = random_halves(engine_weight_elems(c), 0.03f);
    e->model.cache = random_halves(engine_cache_elems(c), 1.0f);
    e->model.workspace_bytes = engine_workspace_bytes(c);
    e->model.workspace = reserve(e->model.workspace_bytes);
    e->device = (int *)reserve(WORDS * sizeof(int));
    e->logits = (float *)reserve((RUNNING + 1) * (size_t)c->vocab * sizeof(float));
    need(cudaMallocHost((void **)&e->host, WORDS * sizeof(int)));
    memset(e->host, 0, WORDS * sizeof(int));
    need(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking));
    for (int rows = 1; rows <= RUNNING; rows++) {
        cudaGraph_t graph;
        need(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeThreadLocal));
        launch(e, rows, rows);
        need(cudaStreamEndCapture(e->stream, &graph));
        need(cudaGraphInstantiate(&e->graphs[rows], graph, 0));
        need(cudaGraphDestroy(graph));
    }
    need(cudaDeviceSynchronize());
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/** Seconds of a step: load_run() calls it. */
static double run_step(void *context, const struct scheduler_step *step)
{
    struct engine *const e = (struct engine *)context;
    const struct engine_config *c = &e->model.config;
    int *host = e->host, row = 0, wanted = 0;
    const double begin = now();
    for (int i = 0; i < step->count; i++) {
        const struct scheduler_piece *p = &step->pieces[i];
        memcpy(host + 4 * ROWS + p->slot * TABLE, p->blocks, (size_t)p->block_count * sizeof(int));
        for (int j = 0; j < p->count; j++, row++) {
            host[row] = p->tokens[j] % c->vocab;
            host[ROWS + row] = p->first + j;
            host[2 * ROWS + row] = p->slot;
        }
        if (p->samples) host[3 * ROWS + wanted++] = row - 1;
        if (p->copied < 0) continue;
        const size_t slice = engine_slice_elems(c) * sizeof(__half), block = slice / (size_t)c->num_blocks;
        char *cache = (char *)e->model.cache;
        need(cudaMemcpy2DAsync(cache + (size_t)p->blocks[p->first / BLOCK] * block, slice,
                               cache + (size_t)p->copied * block, slice, block, 2 * (size_t)c->layers,
                               cudaMemcpyDeviceToDevice, e->stream));
    }
    need(cudaMemcpyAsync(e->device, host, WORDS * sizeof(int), cudaMemcpyHostToDevice, e->stream));
    if (row == wanted)
        need(cudaGraphLaunch(e->graphs[row], e->stream));
    else
        launch(e, row, wanted);
    need(cudaStreamSynchronize(e->stream));
    return now() - begin;
}

/** Seconds of RUNNING tokens over @p length keys each with @p piece rows of a prompt at @p at: the least of AGAIN runs. */
static double step_of(struct engine *e, int length, int piece, int at)
{
    static struct scheduler_piece pieces[RUNNING + 1];
    static int tokens[ROWS], blocks[RUNNING][TABLE];
    for (int i = 0; i < RUNNING; i++) {
        for (int j = 0; j < TABLE; j++)
            blocks[i][j] = (int)((unsigned)(i * TABLE + j) * 2654435761u >> 7) % BLOCKS;
        pieces[i] = {i + 1, i, length, 1, tokens, blocks[i], TABLE, 1, -1};
    }
    /* its place is that of the last token, which has just left */
    if (piece > 0)
        pieces[RUNNING - 1] = {RUNNING, RUNNING - 1, at, piece + 1, tokens, blocks[RUNNING - 1],
                               TABLE,   1,           -1};
    const struct scheduler_step step = {pieces, RUNNING, RUNNING + piece};
    double least = INFINITY;
    for (int i = 0; i < AGAIN; i++) least = fmin(least, run_step(e, &step));
    return least;
}

/** Requests per second in the long run: find_limit() of serve-bench without shared texts, its steps measured. */
static double find_limit(struct engine *e, const struct load_request *requests, int count)
{
    double held = 0.0, output = 0.0, steps = 0.0, prompts = 0.0;
    for (int i = 0; i < count; i++) {
        output += requests[i].output;
        held += requests[i].output * (requests[i].prompt + requests[i].output / 2.0);
    }
    const int length = (int)(held / output), room = ROWS - RUNNING;
    const double without = step_of(e, length, 0, 0);
    for (int i = 0; i < count; i++) {
        steps += requests[i].output - 1;
        for (int at = 0, piece; at < requests[i].prompt; at += piece, steps++) {
            piece = requests[i].prompt - at < room ? requests[i].prompt - at : room;
            prompts += step_of(e, length, piece, at) - without;
        }
    }
    const double leave = (double)RUNNING * count / steps;
    printf("a step of %d tokens over %d keys: %.3f ms; what the prompt of a request adds, mean: %.3f ms\n",
           RUNNING, length, 1e3 * without, 1e3 * prompts / count);
    return leave / (without + leave * prompts / count);
}

int main(int words, char **word)
{
    static const double SHARES[] = {0.1, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25};
    static struct engine e;
    char error[SCHEDULER_ERROR] = "";
    const int large = words > 1 && strcmp(word[1], "8B") == 0, count = words > 2 ? atoi(word[2]) : 200;
    struct load_lengths lengths = {512,  128, words > 3 ? atof(word[3]) : 0.6, LONGEST,
                                   NULL, 0,   words > 4 ? atof(word[4]) : 0.0};
    const struct scheduler_limits limits = {
        BLOCKS, BLOCK, RUNNING, ROWS, 2 * LONGEST, count + 1, lengths.common > 0.0};
    struct load_request *requests = (struct load_request *)malloc((size_t)count * sizeof *requests);
    open_engine(&e, large);
    load_make(requests, count, 1.0, &lengths, 1);
    const double limit = find_limit(&e, requests, count);
    printf("%s, %d requests, prompts %g and outputs %g with spread %g, %.0f%% of a prompt common; limit "
           "(nothing shared): %.2f requests/s\n",
           large ? "8B" : "0.6B", count, lengths.prompt, lengths.output, lengths.spread, 100 * lengths.common,
           limit);
    printf("rate,load,requests_per_s,tokens_per_s,first_50_ms,first_90_ms,first_99_ms,between_50_ms,between_"
           "90_ms,between_99_ms,"
           "waiting,running,busy,steps,hit_rate\n");
    for (size_t i = 0; i < sizeof SHARES / sizeof SHARES[0]; i++) {
        struct load_result r;
        if (words > 5 && SHARES[i] < atof(word[5])) continue;
        load_make(requests, count, SHARES[i] * limit, &lengths, 1);
        if (load_run(requests, count, &limits, run_step, &e, &r, error) != 0)
            return fprintf(stderr, "serve_load: %s\n", error), 2;
        printf("%.2f,%.2f,%.2f,%.0f,%.1f,%.1f,%.1f,%.2f,%.2f,%.2f,%.1f,%.1f,%.3f,%lld,%.3f\n",
               SHARES[i] * limit, SHARES[i], r.requests_per_second, r.tokens_per_second, 1e3 * r.first.at_50,
               1e3 * r.first.at_90, 1e3 * r.first.at_99, 1e3 * r.between.at_50, 1e3 * r.between.at_90,
               1e3 * r.between.at_99, r.waiting, r.running, r.busy, r.steps, r.hit_rate);
        fflush(stdout);
    }
    return 0;
}

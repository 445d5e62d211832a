// Variant: of every bucket the graph itself is kept, and there is a single executable graph: a step whose bucket is
// another than that of the step before updates it, or makes it anew where an update cannot. Inputs are padded by fills
// and by copies of what is there already, without a kernel.

#include "cuda_graph.h"

#include <stdlib.h>

#include "decode_kernels.h"

enum { BUCKETS = 7 };

struct decode_graphs {
    struct decode_model model;
    struct decode_buffers buffers;
    cudaGraph_t graph[BUCKETS];
    int now; // bucket of the executable graph
    cudaGraphExec_t replay;
    int pages[DECODE_MAX_ROWS]; // host: scratch pages, which a table is filled from
};

#define RETURN_UNLESS_OK(call)                                                                               \
    do {                                                                                                     \
        if ((call) != cudaSuccess) {                                                                         \
            cudaGetLastError();                                                                              \
            return KERNEL_CUDA_ERROR;                                                                        \
        }                                                                                                    \
    } while (0)

enum kernel_status decode_step_eager(const struct decode_model *model, const struct decode_buffers *buffers,
                                     const struct decode_batch *batch, cudaStream_t stream)
{
    if (!batch || !batch->tokens || !batch->positions || !batch->block_table || !batch->logits)
        return KERNEL_INVALID_CONFIG;
    if (batch->rows <= 0 || batch->rows > model->config.max_rows) return KERNEL_INVALID_DIMENSION;
    return decode_step_launch_by_launch(model, buffers, batch, stream);
}

static enum kernel_status all_kernels(const struct decode_graphs *g, int rows, cudaStream_t stream)
{
    enum kernel_status status = decode_embed(&g->model, &g->buffers, rows, stream);
    for (int i = 0; i < g->model.config.layers && status == KERNEL_OK; i++)
        status = decode_layer(&g->model, i, &g->buffers, rows, stream);
    return status == KERNEL_OK ? decode_logits(&g->model, &g->buffers, rows, stream) : status;
}

static enum kernel_status capture(struct decode_graphs *g, int bucket, cudaStream_t stream)
{
    RETURN_UNLESS_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    enum kernel_status status = all_kernels(g, 1 << bucket, stream);
    cudaError_t error = cudaStreamEndCapture(stream, &g->graph[bucket]);
    if (error != cudaSuccess) cudaGetLastError();
    return status != KERNEL_OK ? status : error == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** Makes the executable graph that of @p bucket. */
static enum kernel_status switch_to(struct decode_graphs *g, int bucket)
{
    cudaGraphExecUpdateResultInfo info;
    if (g->replay != NULL && g->now == bucket) return KERNEL_OK;
    if (g->replay != NULL && cudaGraphExecUpdate(g->replay, g->graph[bucket], &info) != cudaSuccess) {
        cudaGetLastError();
        RETURN_UNLESS_OK(cudaGraphExecDestroy(g->replay));
        g->replay = NULL;
    }
    if (g->replay == NULL) RETURN_UNLESS_OK(cudaGraphInstantiate(&g->replay, g->graph[bucket], 0));
    g->now = bucket;
    return KERNEL_OK;
}

/** Zeros, and a scratch page throughout: the first entry comes from the host, the others from what is there. */
static cudaError_t pad(const struct decode_graphs *g, int row, cudaStream_t stream)
{
    const struct decode_buffers *b = &g->buffers;
    int entries = g->model.config.max_blocks, *table = b->block_table + (size_t)row * (size_t)entries;
    cudaMemsetAsync(b->tokens + row, 0, sizeof(int), stream);
    cudaMemsetAsync(b->positions + row, 0, sizeof(int), stream);
    cudaMemcpyAsync(table, &g->pages[row], sizeof(int), cudaMemcpyHostToDevice, stream);
    for (int filled = 1; filled < entries; filled *= 2) {
        int more = filled < entries - filled ? filled : entries - filled;
        cudaMemcpyAsync(table + filled, table, (size_t)more * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    }
    return cudaPeekAtLastError();
}

enum kernel_status decode_graphs_step(struct decode_graphs *g, const struct decode_batch *batch,
                                      cudaStream_t stream)
{
    if (!g || !batch || !batch->tokens || !batch->positions || !batch->block_table || !batch->logits)
        return KERNEL_INVALID_CONFIG;
    const struct decode_config *c = &g->model.config;
    if (batch->rows <= 0 || batch->rows > c->max_rows) return KERNEL_INVALID_DIMENSION;
    int bucket = 0;
    while (1 << bucket < batch->rows) bucket++;
    enum kernel_status status = switch_to(g, bucket);
    if (status != KERNEL_OK) return status;
    const struct decode_buffers *b = &g->buffers;
    size_t rows = (size_t)batch->rows * sizeof(int), table = rows * (size_t)c->max_blocks;
    const enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
    RETURN_UNLESS_OK(cudaMemcpyAsync(b->block_table, batch->block_table, table, kind, stream));
    RETURN_UNLESS_OK(cudaMemcpyAsync(b->positions, batch->positions, rows, kind, stream));
    RETURN_UNLESS_OK(cudaMemcpyAsync(b->tokens, batch->tokens, rows, kind, stream));
    for (int row = 1 << bucket; row-- > batch->rows;) RETURN_UNLESS_OK(pad(g, row, stream));
    RETURN_UNLESS_OK(cudaGraphLaunch(g->replay, stream));
    RETURN_UNLESS_OK(
        cudaMemcpyAsync(batch->logits, b->logits, rows * (size_t)c->vocab, kind, stream)); // a float is an int long
    return KERNEL_OK;
}

void decode_graphs_destroy(struct decode_graphs *g)
{
    if (g == NULL) return;
    if (g->replay != NULL) cudaGraphExecDestroy(g->replay);
    for (cudaGraph_t graph : g->graph)
        if (graph != NULL) cudaGraphDestroy(graph);
    free(g);
}

enum kernel_status decode_graphs_create(const struct decode_model *model,
                                        const struct decode_buffers *b, cudaStream_t stream,
                                        struct decode_graphs **graphs)
{
    if (graphs != NULL) *graphs = NULL;
    if (!graphs || !model || !b || !stream || stream == cudaStreamLegacy) return KERNEL_INVALID_CONFIG;
    if (!b->tokens || !b->positions || !b->block_table || !b->x || !b->qkv) return KERNEL_INVALID_CONFIG;
    if (!b->attended || !b->gated || !b->logits || !b->cache) return KERNEL_INVALID_CONFIG;
    enum kernel_status status = decode_config_check(&model->config);
    if (status != KERNEL_OK) return status;
    struct decode_graphs *g = (struct decode_graphs *)calloc(1, sizeof *g);
    if (g == NULL) return KERNEL_OUT_OF_MEMORY;
    g->model = *model;
    g->buffers = *b;
    for (int row = 0; row < model->config.max_rows; row++) g->pages[row] = model->config.scratch_block + row;
    for (int i = 0; status == KERNEL_OK && 1 << i <= model->config.max_rows; i++) status = capture(g, i, stream);
    if (status == KERNEL_OK) status = switch_to(g, 0);
    if (status == KERNEL_OK)
        *graphs = g;
    else
        decode_graphs_destroy(g);
    return status;
}

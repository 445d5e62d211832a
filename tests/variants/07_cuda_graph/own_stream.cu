/*
 * A correct solution of another shape: captured on a stream that is made and destroyed for it, and not on the caller's;
 * the graphs are kept beside what was made executable of them. One block pads all rows, before the inputs are copied, and
 * the logits are copied row by row.
 */
#include "cuda_graph.h"
#include <stdlib.h>
#include "decode_kernels.h"
static enum kernel_status status_of(cudaError_t e)
{
    if (e == cudaSuccess) return KERNEL_OK;
    cudaGetLastError();
    return KERNEL_CUDA_ERROR;
}
static enum kernel_status check_create(const struct decode_model *model, const struct decode_buffers *b,
                                       cudaStream_t stream)
{
    if (model == NULL || b == NULL || stream == NULL || stream == cudaStreamLegacy)
        return KERNEL_INVALID_CONFIG;
    if (!b->tokens || !b->positions || !b->block_table || !b->x || !b->qkv || !b->attended || !b->gated ||
        !b->logits || !b->cache)
        return KERNEL_INVALID_CONFIG;
    enum kernel_status s = decode_config_check(&model->config);
    if (s != KERNEL_OK) return s;
    if (!model->embedding || !model->final_norm || !model->to_logits) return KERNEL_INVALID_CONFIG;
    for (int i = 0; i < model->config.layers; i++) {
        const struct decode_layer *w = &model->layer[i];
        if (!w->attention_norm || !w->qkv || !w->out || !w->mlp_norm || !w->gate_up || !w->down)
            return KERNEL_INVALID_CONFIG;
    }
    return KERNEL_OK;
}
static enum kernel_status check_batch(const struct decode_config *c, const struct decode_batch *batch)
{
    if (batch == NULL || !batch->tokens || !batch->positions || !batch->block_table || !batch->logits)
        return KERNEL_INVALID_CONFIG;
    return batch->rows < 1 || batch->rows > c->max_rows ? KERNEL_INVALID_DIMENSION : KERNEL_OK;
}
enum kernel_status decode_step_eager(const struct decode_model *model, const struct decode_buffers *b,
                                     const struct decode_batch *batch, cudaStream_t stream)
{
    enum kernel_status s = check_batch(&model->config, batch);
    return s == KERNEL_OK ? decode_step_launch_by_launch(model, b, batch, stream) : s;
}
/** The graphs of all buckets. */
struct decode_graphs {
    struct decode_model model;
    struct decode_buffers buffers;
    cudaGraph_t graph[7];
    cudaGraphExec_t exec[7];
};
__global__ void pad_kernel(struct decode_buffers b, struct decode_config c, int first, int last)
{
    for (int row = first; row < last; row++) {
        if (threadIdx.x == 0) b.tokens[row] = 0;
        if (threadIdx.x == 1) b.positions[row] = 0;
        for (int i = threadIdx.x; i < c.max_blocks; i += 1024)
            b.block_table[(size_t)row * c.max_blocks + i] = c.scratch_block + row;
    }
}
void decode_graphs_destroy(struct decode_graphs *g)
{
    for (int i = 0; g && i < 7; i++) {
        if (g->exec[i]) cudaGraphExecDestroy(g->exec[i]);
        if (g->graph[i]) cudaGraphDestroy(g->graph[i]);
    }
    free(g);
}
enum kernel_status decode_graphs_create(const struct decode_model *model, const struct decode_buffers *b,
                                        cudaStream_t stream, struct decode_graphs **graphs)
{
    if (graphs == NULL) return KERNEL_INVALID_CONFIG;
    *graphs = NULL;
    enum kernel_status s = check_create(model, b, stream);
    if (s != KERNEL_OK) return s;
    struct decode_graphs *g = (struct decode_graphs *)calloc(1, sizeof *g);
    cudaStream_t own = NULL;
    if (!g) return KERNEL_OUT_OF_MEMORY;
    g->model = *model, g->buffers = *b;
    s = status_of(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    for (int i = 0; s == KERNEL_OK && 1 << i <= model->config.max_rows; i++) {
        cudaGraph_t first = NULL;
        s = status_of(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
        if (s != KERNEL_OK) break;
        s = decode_embed(&g->model, &g->buffers, 1 << i, own);
        for (int l = 0; s == KERNEL_OK && l < model->config.layers; l++)
            s = decode_layer(&g->model, l, &g->buffers, 1 << i, own);
        if (s == KERNEL_OK) s = decode_logits(&g->model, &g->buffers, 1 << i, own);
        cudaError_t e = cudaStreamEndCapture(own, &first);
        if (s == KERNEL_OK) s = status_of(e);
        g->graph[i] = first;
        if (s == KERNEL_OK) s = status_of(cudaGraphInstantiate(&g->exec[i], g->graph[i], 0));
    }
    if (own) cudaStreamDestroy(own);
    cudaGetLastError();
    if (s == KERNEL_OK)
        *graphs = g;
    else
        decode_graphs_destroy(g);
    return s;
}
enum kernel_status decode_graphs_step(struct decode_graphs *g, const struct decode_batch *batch,
                                      cudaStream_t s)
{
    if (g == NULL) return KERNEL_INVALID_CONFIG;
    enum kernel_status st = check_batch(&g->model.config, batch);
    if (st != KERNEL_OK) return st;
    int i = 0;
    while (1 << i < batch->rows) i++;
    size_t rows = batch->rows, table = rows * g->model.config.max_blocks;
    pad_kernel<<<1, 1024, 0, s>>>(g->buffers, g->model.config, batch->rows, 1 << i);
    cudaMemcpyAsync(g->buffers.block_table, batch->block_table, table * 4, cudaMemcpyDeviceToDevice, s);
    cudaMemcpyAsync(g->buffers.positions, batch->positions, rows * 4, cudaMemcpyDeviceToDevice, s);
    cudaMemcpyAsync(g->buffers.tokens, batch->tokens, rows * 4, cudaMemcpyDeviceToDevice, s);
    cudaGraphLaunch(g->exec[i], s);
    for (size_t r = 0; r < rows; r++) /* a copy a row */
        cudaMemcpyAsync(batch->logits + r * g->model.config.vocab,
                        g->buffers.logits + r * g->model.config.vocab, g->model.config.vocab * 4,
                        cudaMemcpyDeviceToDevice, s);
    return status_of(cudaGetLastError());
}

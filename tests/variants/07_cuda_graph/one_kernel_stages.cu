// Variant: captured on a stream of its own, in relaxed mode, the largest bucket first; one kernel copies the inputs and
// pads them, one block per entry of the tables; and graphs are found by their number of rows.
// covered-by: two_streams
#include "cuda_graph.h"

#include <stdlib.h>

#include "decode_kernels.h"

struct captured {
    int rows;
    cudaGraphExec_t graph;
    struct captured *larger;
};

struct decode_graphs {
    struct decode_model model;
    struct decode_buffers buffers;
    struct captured *smallest;
};

static bool lacks_something(const struct decode_buffers *b)
{
    const void *const all[] = {b->tokens,   b->positions, b->block_table, b->x,    b->qkv,
                               b->attended, b->gated,     b->logits,      b->cache};
    for (const void *pointer : all)
        if (pointer == NULL) return true;
    return false;
}

static bool is_usable(const struct decode_batch *batch)
{
    return batch != NULL && batch->tokens && batch->positions && batch->block_table && batch->logits;
}

enum kernel_status decode_step_eager(const struct decode_model *model, const struct decode_buffers *buffers,
                                     const struct decode_batch *batch, cudaStream_t stream)
{
    if (!is_usable(batch)) return KERNEL_INVALID_CONFIG;
    if (batch->rows < 1 || batch->rows > model->config.max_rows) return KERNEL_INVALID_DIMENSION;
    return decode_step_launch_by_launch(model, buffers, batch, stream);
}

/** Where a row of the bucket comes from: the batch, or nowhere. A block per row and entry of its table. */
__global__ void stage_kernel(struct decode_batch batch, struct decode_buffers to, int scratch_block)
{
    const int row = (int)blockIdx.y, entries = (int)gridDim.x, at = row * entries + (int)blockIdx.x;
    const bool pads = row >= batch.rows;
    to.block_table[at] = pads ? scratch_block + row : batch.block_table[at];
    if (blockIdx.x > 0) return;
    to.tokens[row] = pads ? 0 : batch.tokens[row];
    to.positions[row] = pads ? 0 : batch.positions[row];
}

static enum kernel_status capture(struct captured *one, const struct decode_graphs *of, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) != cudaSuccess) return KERNEL_CUDA_ERROR;
    enum kernel_status status = decode_embed(&of->model, &of->buffers, one->rows, stream);
    for (int layer = 0; status == KERNEL_OK && layer < of->model.config.layers; layer++)
        status = decode_layer(&of->model, layer, &of->buffers, one->rows, stream);
    if (status == KERNEL_OK) status = decode_logits(&of->model, &of->buffers, one->rows, stream);
    bool ended = cudaStreamEndCapture(stream, &graph) == cudaSuccess;
    if (status == KERNEL_OK && (!ended || cudaGraphInstantiate(&one->graph, graph, 0) != cudaSuccess))
        status = KERNEL_CUDA_ERROR;
    if (graph != NULL) cudaGraphDestroy(graph);
    cudaGetLastError(); // the status has told it
    return status;
}

static enum kernel_status capture_all(struct decode_graphs *graphs, cudaStream_t stream)
{
    enum kernel_status status = KERNEL_OK;
    for (int rows = graphs->model.config.max_rows; rows > 0 && status == KERNEL_OK; rows /= 2) {
        struct captured *one = (struct captured *)malloc(sizeof *one);
        if (one == NULL) return KERNEL_OUT_OF_MEMORY;
        *one = {rows, NULL, graphs->smallest};
        graphs->smallest = one;
        status = capture(one, graphs, stream);
    }
    return status;
}

enum kernel_status decode_graphs_step(struct decode_graphs *graphs, const struct decode_batch *batch,
                                      cudaStream_t stream)
{
    if (graphs == NULL || !is_usable(batch)) return KERNEL_INVALID_CONFIG;
    const struct decode_config *c = &graphs->model.config;
    if (batch->rows < 1 || batch->rows > c->max_rows) return KERNEL_INVALID_DIMENSION;
    const struct captured *bucket = graphs->smallest;
    while (bucket->rows < batch->rows) bucket = bucket->larger;
    dim3 grid((unsigned)c->max_blocks, (unsigned)bucket->rows);
    stage_kernel<<<grid, 1, 0, stream>>>(*batch, graphs->buffers, c->scratch_block);
    cudaGraphLaunch(bucket->graph, stream);
    cudaMemcpyAsync(batch->logits, graphs->buffers.logits,
                    sizeof(float) * (size_t)batch->rows * (size_t)c->vocab, cudaMemcpyDefault, stream);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

void decode_graphs_destroy(struct decode_graphs *graphs)
{
    while (graphs != NULL && graphs->smallest != NULL) {
        struct captured *one = graphs->smallest;
        graphs->smallest = one->larger;
        if (one->graph != NULL) cudaGraphExecDestroy(one->graph);
        free(one);
    }
    free(graphs);
}

enum kernel_status decode_graphs_create(const struct decode_model *model,
                                        const struct decode_buffers *buffers, cudaStream_t stream,
                                        struct decode_graphs **graphs)
{
    if (graphs == NULL) return KERNEL_INVALID_CONFIG;
    *graphs = NULL;
    if (model == NULL || buffers == NULL || stream == NULL || stream == cudaStreamLegacy)
        return KERNEL_INVALID_CONFIG;
    if (lacks_something(buffers)) return KERNEL_INVALID_CONFIG;
    enum kernel_status status = decode_config_check(&model->config);
    if (status != KERNEL_OK) return status;
    cudaStream_t own;
    if (cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess) return KERNEL_CUDA_ERROR;
    *graphs = (struct decode_graphs *)malloc(sizeof **graphs);
    if (*graphs != NULL) **graphs = {*model, *buffers, NULL};
    status = *graphs != NULL ? capture_all(*graphs, own) : KERNEL_OUT_OF_MEMORY;
    cudaStreamDestroy(own);
    if (status == KERNEL_OK) return status;
    decode_graphs_destroy(*graphs);
    *graphs = NULL;
    return status;
}

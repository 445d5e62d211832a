// [student: head]
/*
 * A decode step of a transformer as a CUDA graph.
 *
 * A step is five small kernels per layer, and each costs the host a launch. A capture records the launches of a
 * step once; a replay starts all of them with one call. What a capture freezes is every argument: pointers,
 * extents, grid sizes. So whatever changes from step to step lies in device memory, at addresses that stay,
 * and a batch is padded to a size that has been captured.
 *
 *     tokens, positions, block tables ──copy──▶ fixed buffers ──pad──▶ graph of the bucket ──copy──▶ logits
 *
 * NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs"; vLLM and SGLang replay their decode steps in this way.
 * Run:   build/bin/warpwise check 07 --kernel solutions/07_cuda_graph/cuda_graph.cu
 */
// [/student]
#include "cuda_graph.h"

#include <stdlib.h>

#include "decode_kernels.h"

enum { MAX_BUCKETS = 7, PAD_THREADS = 128 };

static_assert(1 << (MAX_BUCKETS - 1) == DECODE_MAX_ROWS, "the last bucket is the largest batch");

struct decode_graphs {
    struct decode_model model;
    struct decode_buffers buffers;
    int buckets;                         // bucket i is 1 << i rows
    cudaGraphExec_t replay[MAX_BUCKETS]; // NULL where there is none
};

/** The status that stands for an error of the CUDA runtime. */
static enum kernel_status status_of(cudaError_t error)
{
    if (error == cudaSuccess) return KERNEL_OK;
    cudaGetLastError(); // it is reported: the next call begins without it
    return KERNEL_CUDA_ERROR;
}

/* ---- given: the arguments, and the step without a graph ---------------------------------------------- */

/** The checks of decode_graphs_create(). */
static enum kernel_status check_create(const struct decode_model *model, const struct decode_buffers *buffers,
                                       cudaStream_t stream)
{
    if (model == NULL || buffers == NULL) return KERNEL_INVALID_CONFIG;
    if (stream == NULL || stream == cudaStreamLegacy) return KERNEL_INVALID_CONFIG;
    if (!buffers->tokens || !buffers->positions || !buffers->block_table || !buffers->x || !buffers->qkv ||
        !buffers->attended || !buffers->gated || !buffers->logits || !buffers->cache)
        return KERNEL_INVALID_CONFIG;
    return decode_config_check(&model->config);
}

/** The checks of a step. */
static enum kernel_status check_batch(const struct decode_config *config, const struct decode_batch *batch)
{
    if (batch == NULL || !batch->tokens || !batch->positions || !batch->block_table || !batch->logits)
        return KERNEL_INVALID_CONFIG;
    return batch->rows < 1 || batch->rows > config->max_rows ? KERNEL_INVALID_DIMENSION : KERNEL_OK;
}

enum kernel_status decode_step_eager(const struct decode_model *model, const struct decode_buffers *buffers,
                                     const struct decode_batch *batch, cudaStream_t stream)
{
    enum kernel_status status = check_batch(&model->config, batch);
    if (status != KERNEL_OK) return status;
    return decode_step_launch_by_launch(model, buffers, batch, stream);
}

/* ---- what is captured -------------------------------------------------------------------------------- */

/** Puts one step for `rows` rows into the stream: the same kernels whatever the inputs will be. */
static enum kernel_status enqueue_step(const struct decode_graphs *graphs, int rows, cudaStream_t stream)
{
    // [student: enqueue_step]
    const struct decode_model *model = &graphs->model;
    enum kernel_status status = decode_embed(model, &graphs->buffers, rows, stream);
    for (int i = 0; i < model->config.layers && status == KERNEL_OK; i++)
        status = decode_layer(model, i, &graphs->buffers, rows, stream);
    if (status == KERNEL_OK) status = decode_logits(model, &graphs->buffers, rows, stream);
    return status;
    // [/student]
}

/** Captures a step for `rows` rows and makes an executable graph of it. The capture is closed in any case. */
static enum kernel_status capture_step(const struct decode_graphs *graphs, int rows, cudaStream_t stream,
                                       cudaGraphExec_t *replay)
{
    // [student: capture_step]
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) return status_of(error);
    enum kernel_status status = enqueue_step(graphs, rows, stream);
    error = cudaStreamEndCapture(stream, &graph);
    if (status == KERNEL_OK) status = status_of(error);
    if (status == KERNEL_OK) status = status_of(cudaGraphInstantiate(replay, graph, 0));
    if (graph != NULL) cudaGraphDestroy(graph); // the executable graph has its own copy
    return status;
    // [/student]
}

/* ---- a step ------------------------------------------------------------------------------------------ */

/** Rows first .. last of the inputs become padding, which changes nothing. One block per row. */
__global__ void pad_rows_kernel(struct decode_buffers buffers, struct decode_config config, int first)
{
    // [student: pad_rows_kernel]
    size_t row = (size_t)first + blockIdx.x;
    int *table = buffers.block_table + row * (size_t)config.max_blocks; // [max_blocks]
    int page = config.scratch_block + (int)row; // a page for every row: two rows would race for one
    for (int i = (int)threadIdx.x; i < config.max_blocks; i += PAD_THREADS) table[i] = page;
    if (threadIdx.x > 0) return;
    buffers.tokens[row] = 0;
    buffers.positions[row] = 0;
    // [/student]
}

/** Copies the inputs of a step to where the graphs read them, and pads them to `bucket_rows` rows. */
static enum kernel_status stage_inputs(const struct decode_graphs *graphs, const struct decode_batch *batch,
                                       int bucket_rows, cudaStream_t stream)
{
    // [student: stage_inputs]
    const struct decode_buffers *to = &graphs->buffers;
    const struct decode_config *config = &graphs->model.config;
    size_t row_bytes = (size_t)batch->rows * sizeof(int);
    size_t table_bytes = row_bytes * (size_t)config->max_blocks;
    int padding = bucket_rows - batch->rows;
    cudaError_t error =
        cudaMemcpyAsync(to->tokens, batch->tokens, row_bytes, cudaMemcpyDeviceToDevice, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to->positions, batch->positions, row_bytes, cudaMemcpyDeviceToDevice, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to->block_table, batch->block_table, table_bytes, cudaMemcpyDeviceToDevice,
                                stream);
    if (error == cudaSuccess && padding > 0) {
        pad_rows_kernel<<<(unsigned)padding, PAD_THREADS, 0, stream>>>(*to, *config, batch->rows);
        error = cudaGetLastError();
    }
    return status_of(error);
    // [/student]
}

/** The smallest bucket that holds `rows` rows. */
static int bucket_of(int rows)
{
    // [student: bucket_of]
    int bucket = 0;
    while (1 << bucket < rows) bucket++;
    return bucket;
    // [/student]
}

enum kernel_status decode_graphs_step(struct decode_graphs *graphs, const struct decode_batch *batch,
                                      cudaStream_t stream)
{
    if (graphs == NULL) return KERNEL_INVALID_CONFIG;
    enum kernel_status status = check_batch(&graphs->model.config, batch);
    if (status != KERNEL_OK) return status;
    // [student: decode_graphs_step]
    int bucket = bucket_of(batch->rows);
    size_t logits_bytes = (size_t)batch->rows * (size_t)graphs->model.config.vocab * sizeof(float);
    status = stage_inputs(graphs, batch, 1 << bucket, stream);
    if (status == KERNEL_OK) status = status_of(cudaGraphLaunch(graphs->replay[bucket], stream));
    if (status == KERNEL_OK)
        status = status_of(cudaMemcpyAsync(batch->logits, graphs->buffers.logits, logits_bytes,
                                           cudaMemcpyDeviceToDevice, stream));
    return status;
    // [/student]
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

void decode_graphs_destroy(struct decode_graphs *graphs)
{
    if (graphs == NULL) return;
    // [student: decode_graphs_destroy]
    for (int i = 0; i < graphs->buckets; i++)
        if (graphs->replay[i] != NULL) cudaGraphExecDestroy(graphs->replay[i]);
    // [/student]
    free(graphs);
}

enum kernel_status decode_graphs_create(const struct decode_model *model,
                                        const struct decode_buffers *buffers, cudaStream_t stream,
                                        struct decode_graphs **graphs)
{
    if (graphs == NULL) return KERNEL_INVALID_CONFIG;
    *graphs = NULL;
    enum kernel_status status = check_create(model, buffers, stream);
    if (status != KERNEL_OK) return status;
    struct decode_graphs *made = (struct decode_graphs *)calloc(1, sizeof *made);
    if (made == NULL) return KERNEL_OUT_OF_MEMORY;
    made->model = *model;
    made->buffers = *buffers;
    // [student: decode_graphs_create]
    made->buckets = bucket_of(model->config.max_rows) + 1;
    for (int i = 0; i < made->buckets && status == KERNEL_OK; i++)
        status = capture_step(made, 1 << i, stream, &made->replay[i]);
    // [/student]
    if (status == KERNEL_OK)
        *graphs = made;
    else
        decode_graphs_destroy(made);
    return status;
}

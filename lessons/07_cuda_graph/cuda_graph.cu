// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 07: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 *
 *     build/bin/warpwise check 07                 judges what is there
 *     build/bin/warpwise check 07 --case NAME     looks at one case
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
    /* TODO: put the whole step into the stream with decode_embed, decode_layer for every layer, decode_logits
     * (decode_kernels.h), and stop at the first that does not answer KERNEL_OK. */
    (void)graphs, (void)rows, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Captures a step for `rows` rows and makes an executable graph of it. The capture is closed in any case. */
static enum kernel_status capture_step(const struct decode_graphs *graphs, int rows, cudaStream_t stream,
                                       cudaGraphExec_t *replay)
{
    // [student: capture_step]
    /* TODO: begin a capture of the stream (cudaStreamCaptureModeThreadLocal), enqueue_step, end the capture
     * whatever came of it; make the graph executable; destroy the graph itself. */
    (void)graphs, (void)rows, (void)stream, (void)replay;
    (void)enqueue_step, (void)status_of;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- a step ------------------------------------------------------------------------------------------ */

/** Rows first .. last of the inputs become padding, which changes nothing. One block per row. */
__global__ void pad_rows_kernel(struct decode_buffers buffers, struct decode_config config, int first)
{
    // [student: pad_rows_kernel]
    /* TODO: row first + blockIdx.x becomes token 0 at position 0, with a block table of
     * scratch_block + its row throughout. */
    (void)buffers, (void)config, (void)first;
    // [/student]
}

/** Copies the inputs of a step to where the graphs read them, and pads them to `bucket_rows` rows. */
static enum kernel_status stage_inputs(const struct decode_graphs *graphs, const struct decode_batch *batch,
                                       int bucket_rows, cudaStream_t stream)
{
    // [student: stage_inputs]
    /* TODO: copy tokens, positions and block tables of the batch's rows to graphs->buffers, device to device,
     * in the stream; then launch pad_rows_kernel for the rows that are missing to the bucket, if any. */
    (void)graphs, (void)batch, (void)bucket_rows, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** The smallest bucket that holds `rows` rows. */
static int bucket_of(int rows)
{
    // [student: bucket_of]
    /* TODO: 1 row: 0; 2 rows: 1; 3 and 4 rows: 2; 5 to 8 rows: 3; ... */
    (void)rows;
    return 0;
    // [/student]
}

enum kernel_status decode_graphs_step(struct decode_graphs *graphs, const struct decode_batch *batch,
                                      cudaStream_t stream)
{
    if (graphs == NULL) return KERNEL_INVALID_CONFIG;
    enum kernel_status status = check_batch(&graphs->model.config, batch);
    if (status != KERNEL_OK) return status;
    // [student: decode_graphs_step]
    /* TODO: stage the inputs, launch the graph of the bucket, copy the logits of the batch's rows out. */
    (void)stage_inputs, (void)bucket_of, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

void decode_graphs_destroy(struct decode_graphs *graphs)
{
    if (graphs == NULL) return;
    // [student: decode_graphs_destroy]
    /* TODO: destroy every executable graph there is. */
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
    /* TODO: set made->buckets to the number of buckets up to the one that holds max_rows, and capture_step each of
     * them. These lines capture the bucket of one row only. */
    made->buckets = 1;
    status = capture_step(made, 1, stream, &made->replay[0]);
    // [/student]
    if (status == KERNEL_OK)
        *graphs = made;
    else
        decode_graphs_destroy(made);
    return status;
}

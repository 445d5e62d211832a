/**
 * @file decode_kernels.h
 * @brief The small kernels of a decode step, given. For kernel files only.
 *
 * Each launcher puts its kernels into @p stream for rows 0 .. rows - 1 of the buffers. None of them waits,
 * and none reads what differs from step to step anywhere but in device memory, when it runs. A row is
 * computed the same way whatever other rows there are: its bits do not depend on the size of the batch.
 *
 * At one row a kernel is little more than one load from memory, which takes longer than anything it
 * computes. So kernels begin before the preceding one is over (programmatic dependent launch, from sm_90 on):
 *
 *     kernel n      | load weights | wait | x ... | store |
 *     kernel n + 1        | load weights |  wait  . . . . | x ... | store |
 *
 * - At its beginning each kernel says that the next may start: decode_start_next().
 * - Before decode_wait() it reads only what no kernel of a step writes: weights, gains, positions, block
 *   table, and the keys and values of earlier steps. x, q, k, v, the newest key and value among them, come
 *   after it. decode_wait() returns when the preceding kernel is over and what it wrote can be read; that one
 *   had waited in the same way, so all before it are over, too.
 * - Whatever can be worked out before decode_wait() is, and what follows it is short: it is the time of a
 *   step. All that a lane needs from there is asked for at once.
 * - decode_embed() is launched as usual, when all before it in the stream is over: the copies
 *   of a step's tokens, positions and block table are, before any kernel of the step begins.
 * - A device below sm_90, or code that was compiled for one, knows nothing of this: decode_waits().
 *
 * @see NVIDIA, CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization"
 */
#pragma once

#include "decode_attention.h"
#include "decode_launch.h"
#include "decode_projection.h"

/**
 * @brief x = the embeddings of the tokens. One launch, which waits for all before it in the
 * stream.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if the embedding is missing
 */
static inline enum kernel_status decode_embed(const struct decode_model *model,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    if (!model->embedding) return KERNEL_INVALID_CONFIG;
    dim3 grid(((unsigned)model->config.hidden + DECODE_THREADS - 1) / DECODE_THREADS, (unsigned)rows);
    decode_embed_kernel<<<grid, DECODE_THREADS, 0, stream>>>(b->tokens, (const __half *)model->embedding,
                                                             b->x, model->config.hidden);
    return decode_launch_status();
}

/** @brief The attention of layer @p index. One launch. */
static inline void decode_attend(const struct decode_config *c, int index, const struct decode_buffers *b,
                                 int rows, cudaStream_t stream)
{
    size_t kv_elems = decode_cache_elems(c) / (2 * (size_t)c->layers);
    __half *keys = (__half *)b->cache + (size_t)index * 2 * kv_elems;
    decode_attention(c, b, keys, keys + kv_elems, rows, stream);
}

/**
 * @brief One layer: appends to the cache, changes x. Five launches.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if a weight of the layer is missing
 */
static inline enum kernel_status decode_layer(const struct decode_model *model, int index,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_layer *w = &model->layer[index];
    if (!w->attention_norm || !w->qkv || !w->out || !w->mlp_norm || !w->gate_up || !w->down)
        return KERNEL_INVALID_CONFIG;
    const struct decode_projection qkv = {(const __half *)w->qkv,
                                          (const __half *)w->attention_norm,
                                          b->x,
                                          b->qkv,
                                          c->hidden,
                                          (int)decode_qkv_width(c),
                                          rows,
                                          0};
    const struct decode_projection out = {(const __half *)w->out, NULL,      b->attended, b->x,
                                          c->heads * c->head_dim, c->hidden, rows,        1};
    const struct decode_projection gate = {(const __half *)w->gate_up,
                                           (const __half *)w->mlp_norm,
                                           b->x,
                                           b->gated,
                                           c->hidden,
                                           c->intermediate,
                                           rows,
                                           0};
    const struct decode_projection down = {(const __half *)w->down, NULL,      b->gated, b->x,
                                           c->intermediate,         c->hidden, rows,     1};
    decode_project(&qkv, stream);
    decode_attend(c, index, b, rows, stream);
    decode_project(&out, stream);
    decode_gate(&gate, stream);
    decode_project(&down, stream);
    return decode_launch_status();
}

/**
 * @brief The logits of x. One launch.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if a weight is missing
 */
static inline enum kernel_status decode_logits(const struct decode_model *model,
                                               const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    if (!model->final_norm || !model->to_logits) return KERNEL_INVALID_CONFIG;
    const struct decode_projection logits = {(const __half *)model->to_logits,
                                             (const __half *)model->final_norm,
                                             b->x,
                                             b->logits,
                                             c->hidden,
                                             c->vocab,
                                             rows,
                                             0};
    decode_project(&logits, stream);
    return decode_launch_status();
}

/** @brief What decode_graphs_step() does, with a launch for every kernel; see cuda_graph.h. */
static inline enum kernel_status decode_step_launch_by_launch(const struct decode_model *model,
                                                              const struct decode_buffers *b,
                                                              const struct decode_batch *batch,
                                                              cudaStream_t stream)
{
    size_t rows = (size_t)batch->rows, table = rows * (size_t)model->config.max_blocks;
    size_t logits = rows * (size_t)model->config.vocab;
    const enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
    cudaMemcpyAsync(b->tokens, batch->tokens, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->positions, batch->positions, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->block_table, batch->block_table, table * sizeof(int), kind, stream);
    enum kernel_status status = decode_embed(model, b, batch->rows, stream);
    for (int i = 0; i < model->config.layers && status == KERNEL_OK; i++)
        status = decode_layer(model, i, b, batch->rows, stream);
    if (status == KERNEL_OK) status = decode_logits(model, b, batch->rows, stream);
    cudaMemcpyAsync(batch->logits, b->logits, logits * sizeof(float), kind, stream);
    return status == KERNEL_OK ? decode_launch_status() : status;
}

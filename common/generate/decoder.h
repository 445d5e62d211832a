/**
 * @file decoder.h
 * @brief A model on the device: its weights, a cache, and steps of lesson 17's engine that are told by host arrays.
 */
#pragma once

#ifndef PRODUCTS /* the header of this folder that multiplies with the matrices that are not f16 among the weights */
#define PRODUCTS "products_f16.h"
#endif
#include PRODUCTS

enum { DECODER_BUCKETS = 4 /* graphs, of 1, 2, 4 and 8 rows */, DECODER_FEW = 1 << (DECODER_BUCKETS - 1) };

/** @brief What a step is told, in host memory; the same arrays in device memory lie in the same order. */
struct decoder_rows {
    int *tokens;    /**< [max_rows] */
    int *positions; /**< [max_rows] */
    int *requests;  /**< [max_rows] */
    int *wanted;    /**< [max_rows] */
    int *tables;    /**< [max_requests, max_blocks] */
};

/** @brief A model on the device. */
struct decoder {
    struct engine_model model;               /**< as engine_step() takes it */
    struct engine_products *products;        /**< NULL: nothing is elsewhere */
    int max_requests;                        /**< rows of the tables */
    struct decoder_rows host;                /**< to be filled before a step */
    struct decoder_rows device;              /**< the same there */
    size_t words;                            /**< ints of either */
    float *logits;                           /**< device, [max_rows, vocab] */
    cudaStream_t stream;                     /**< of all work */
    cudaGraphExec_t graphs[DECODER_BUCKETS]; /**< a step of 1, 2, 4 and 8 rows; NULL: not captured yet */
};

/** @brief All weights; matrices that a product takes together lie one behind the other. */
static inline void decoder_upload_all(const struct decoder *d, const struct model *model)
{
    const struct engine_config *c = &d->model.config;
    const size_t hidden = (size_t)c->hidden, q = engine_q_width(c) * hidden, kv = engine_kv_width(c) * hidden;
    __half *const weights = (__half *)d->model.weights;
    decoder_upload(model, MODEL_EMBEDDING, 0, weights);
    for (int i = 0; i < c->layers; i++) {
        const struct engine_layer at = engine_layer_at(c, i);
        const size_t places[MODEL_ROUTER] = {at.input_norm, at.qkv,
                                             at.qkv + q,    at.qkv + q + kv,
                                             at.q_norm,     at.k_norm,
                                             at.o,          at.mlp_norm,
                                             at.gate_up,    at.gate_up + (size_t)c->intermediate * hidden,
                                             at.down};
        for (int id = 0; id < MODEL_ROUTER; id++) {
            const int of_mlp = id >= MODEL_GATE;
            if (model_is_matrix((enum model_tensor)id) &&
                c->elsewhere & (of_mlp ? ENGINE_MLP_ELSEWHERE : ENGINE_ATTENTION_ELSEWHERE))
                continue;
            decoder_upload(model, (enum model_tensor)id, i, weights + places[id]);
        }
    }
    decoder_upload(model, MODEL_LAST_NORM, 0, weights + engine_last_norm_at(c));
    if (!c->tied) decoder_upload(model, MODEL_HEAD, 0, weights + engine_head_at(c));
}

/** @brief Pointers into @p memory, which has room for all arrays. */
static inline struct decoder_rows decoder_rows_at(const struct decoder *d, int *memory)
{
    const size_t rows = (size_t)d->model.config.max_rows;
    return {memory, memory + rows, memory + 2 * rows, memory + 3 * rows, memory + 4 * rows};
}

/** @brief The engine's sizes for a model: steps of @p max_rows rows, @p max_requests requests of @p context positions. */
static inline struct engine_config decoder_config(const struct model_config *m, int max_rows,
                                                  int max_requests, int context)
{
    struct engine_config c = {};
    c.layers = m->layers, c.hidden = m->hidden, c.heads = m->heads, c.kv_heads = m->kv_heads;
    c.head_dim = m->head_dim, c.intermediate = m->intermediate, c.vocab = m->vocab, c.tied = m->tied;
    c.epsilon = (float)m->epsilon, c.rope_base = (float)m->rope_base;
    c.block_size = 16;
    c.max_blocks = (context + c.block_size - 1) / c.block_size;
    c.num_blocks = c.max_blocks * max_requests;
    if (m->storage != MODEL_FLOATS) c.elsewhere = ENGINE_ATTENTION_ELSEWHERE | ENGINE_MLP_ELSEWHERE;
    if (m->experts > 0) c.elsewhere = ENGINE_MLP_ELSEWHERE;
    c.max_rows = max_rows < DECODER_FEW ? (int)DECODER_FEW : max_rows;
    return c;
}

/** @brief Puts a model on the device; ends the program, with a reason, if that cannot be. */
static inline void decoder_open(struct decoder *d, const struct model *model, int max_rows, int max_requests,
                                int context)
{
    memset(d, 0, sizeof *d);
    d->model.config = decoder_config(model_config(model), max_rows, max_requests, context);
    d->max_requests = max_requests;
    const struct engine_config *c = &d->model.config;
    d->model.workspace_bytes = engine_workspace_bytes(c);
    if (d->model.workspace_bytes == 0) {
        fprintf(
            stderr,
            "generate: engine_workspace_bytes() says 0: lesson 17 is not written, or not for these sizes\n");
        exit(2);
    }
    d->words = 4 * (size_t)c->max_rows + (size_t)max_requests * (size_t)c->max_blocks;
    int *host = NULL;
    decoder_need(cudaMallocHost((void **)&host, d->words * sizeof(int)), "rows");
    memset(host, 0, d->words * sizeof(int));
    d->host = decoder_rows_at(d, host);
    d->device = decoder_rows_at(d, (int *)decoder_allocate(d->words * sizeof(int), "rows"));
    d->model.weights = decoder_allocate(engine_weight_elems(c) * sizeof(__half), "weights");
    d->model.cache = decoder_allocate(engine_cache_elems(c) * sizeof(__half), "the cache");
    d->model.workspace = decoder_allocate(d->model.workspace_bytes, "the workspace");
    d->logits = (float *)decoder_allocate((size_t)c->max_rows * (size_t)c->vocab * sizeof(float), "logits");
    decoder_need(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "a stream");
    decoder_upload_all(d, model);
    d->products = products_open(model, &d->model);
    d->model.products = d->products;
}

/** @brief Releases it. */
static inline void decoder_close(struct decoder *d)
{
    for (int i = 0; i < DECODER_BUCKETS; i++)
        if (d->graphs[i]) cudaGraphExecDestroy(d->graphs[i]);
    cudaStreamDestroy(d->stream);
    if (d->products) products_close(d->products);
    cudaFree((void *)d->model.weights);
    cudaFree(d->model.cache);
    cudaFree(d->model.workspace);
    cudaFree(d->logits);
    cudaFree(d->device.tokens);
    cudaFreeHost(d->host.tokens);
}

/** @brief Launches a step of @p rows rows, of which @p wanted are wanted. */
static inline void decoder_launch(const struct decoder *d, int rows, int wanted)
{
    const struct decoder_rows *r = &d->device;
    const struct engine_batch batch = {rows,        wanted,    r->tokens, r->positions,
                                       r->requests, r->tables, r->wanted, d->logits};
    const enum kernel_status status = engine_step(&d->model, &batch, d->stream);
    if (status == KERNEL_OK) return;
    fprintf(stderr, "generate: engine_step() says %s\n", kernel_status_name(status));
    exit(2);
}

/** @brief The graph of a step of 1 << @p bucket rows. */
static inline void decoder_capture(struct decoder *d, int bucket)
{
    cudaGraph_t graph;
    decoder_need(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal), "a capture");
    decoder_launch(d, 1 << bucket, 1 << bucket);
    decoder_need(cudaStreamEndCapture(d->stream, &graph), "a capture");
    decoder_need(cudaGraphInstantiate(&d->graphs[bucket], graph, 0), "a graph");
    cudaGraphDestroy(graph);
}

/** @brief Copies a block of the cache, in all layers, before the next step. */
static inline void decoder_copy_block(const struct decoder *d, int from, int to)
{
    const struct engine_config *c = &d->model.config;
    const size_t slice = engine_slice_elems(c) * sizeof(__half), block = slice / (size_t)c->num_blocks;
    char *cache = (char *)d->model.cache;
    decoder_need(cudaMemcpy2DAsync(cache + (size_t)to * block, slice, cache + (size_t)from * block, slice,
                                   block, 2 * (size_t)c->layers, cudaMemcpyDeviceToDevice, d->stream),
                 "copying a block");
}

/** @brief Computes a step as the host's arrays tell it; logits of the wanted rows come to @p logits, [wanted, vocab], in
 *         memory of cudaMallocHost(). Few rows are a replay of the smallest graph that has room, whose other rows pad. */
static inline void decoder_step(struct decoder *d, int rows, int wanted, float *logits)
{
    int bucket = 0;
    while (bucket < DECODER_BUCKETS && 1 << bucket < rows) bucket++;
    const int few = bucket < DECODER_BUCKETS;
    if (few && d->graphs[bucket] == NULL) decoder_capture(d, bucket);
    for (int i = rows; few && i < 1 << bucket; i++) d->host.positions[i] = -1;
    for (int i = wanted; few && i < 1 << bucket; i++) d->host.wanted[i] = -1;
    decoder_need(cudaMemcpyAsync(d->device.tokens, d->host.tokens, d->words * sizeof(int),
                                 cudaMemcpyHostToDevice, d->stream),
                 "copying rows");
    if (few)
        decoder_need(cudaGraphLaunch(d->graphs[bucket], d->stream), "a graph");
    else
        decoder_launch(d, rows, wanted);
    const size_t bytes = (size_t)wanted * (size_t)d->model.config.vocab * sizeof(float);
    if (wanted > 0)
        decoder_need(cudaMemcpyAsync(logits, d->logits, bytes, cudaMemcpyDeviceToHost, d->stream),
                     "copying logits");
    decoder_need(cudaStreamSynchronize(d->stream), "a step");
}

/**
 * @file products_layers.h
 * @brief The three products of a layer whose matrices are stored in fewer bits. products_w4.h and products_int8.h include it after they
 *        have said what a matrix is (struct products_stored), how a row of y is stored (products_y) and how to multiply.
 */
#pragma once

#include "products.h"

/** @brief All matrices of all layers, and what a product works with. */
struct products {
    struct engine_products calls;      /**< first: a pointer to it is one to all of it */
    const struct engine_model *engine; /**< sizes, and the norms' gains */
    __half *h;                         /**< [max_rows, widest input] */
    products_y *y;                     /**< [max_rows, widest output] */
    struct products_scratch scratch;   /**< what only one kind of product needs */
    struct products_stored (*layers)[PRODUCTS_MATRICES];
};

/** @brief y = a W, of @p rows rows of halves. */
static enum kernel_status products_multiply(const struct products *p, enum products_matrix matrix, int layer,
                                            int rows, const __half *a, cudaStream_t stream);

/** @brief h = norm(x), with the gain at @p gain of the weights. */
static inline enum kernel_status products_norm(const struct products *p, const float *x, size_t gain,
                                               int rows, cudaStream_t stream)
{
    const struct engine_config *c = &p->engine->config;
    products_norm_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(
        p->h, x, (const __half *)p->engine->weights + gain, c->hidden, c->epsilon);
    return launch_status();
}

static enum kernel_status products_qkv(const struct engine_products *self, int layer, int rows,
                                       const float *x, float *qkv, cudaStream_t stream)
{
    const struct products *p = (const struct products *)self;
    const struct engine_config *c = &p->engine->config;
    enum kernel_status status = products_norm(p, x, engine_layer_at(c, layer).input_norm, rows, stream);
    if (status == KERNEL_OK) status = products_multiply(p, PRODUCTS_QKV, layer, rows, p->h, stream);
    if (status != KERNEL_OK) return status;
    products_store_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(
        qkv, p->y, (int)(engine_q_width(c) + 2 * engine_kv_width(c)), 0);
    return launch_status();
}

static enum kernel_status products_o(const struct engine_products *self, int layer, int rows,
                                     const void *attended, float *x, cudaStream_t stream)
{
    const struct products *p = (const struct products *)self;
    const enum kernel_status status =
        products_multiply(p, PRODUCTS_O, layer, rows, (const __half *)attended, stream);
    if (status != KERNEL_OK) return status;
    products_store_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(x, p->y, p->engine->config.hidden, 1);
    return launch_status();
}

static enum kernel_status products_mlp(const struct engine_products *self, int layer, int rows, float *x,
                                       cudaStream_t stream)
{
    const struct products *p = (const struct products *)self;
    const struct engine_config *c = &p->engine->config;
    enum kernel_status status = products_norm(p, x, engine_layer_at(c, layer).mlp_norm, rows, stream);
    if (status == KERNEL_OK) status = products_multiply(p, PRODUCTS_GATE_UP, layer, rows, p->h, stream);
    if (status != KERNEL_OK) return status;
    products_gate_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(p->h, p->y, c->intermediate);
    status = launch_status();
    if (status == KERNEL_OK) status = products_multiply(p, PRODUCTS_DOWN, layer, rows, p->h, stream);
    if (status != KERNEL_OK) return status;
    products_store_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(x, p->y, c->hidden, 1);
    return launch_status();
}

/** @brief One matrix of one layer, to the device; ends the program if that cannot be. */
static void products_upload(struct products *p, const struct model *model, enum products_matrix matrix,
                            int layer, struct products_stored *to);

/** @brief All matrices of all layers, to the device. @p engine is referred to. */
static inline struct engine_products *products_open(const struct model *model,
                                                    const struct engine_model *engine)
{
    const struct engine_config *c = &engine->config;
    struct products *p = (struct products *)calloc(1, sizeof *p);
    p->calls = {products_qkv, products_o, products_mlp};
    p->engine = engine;
    p->h = (__half *)decoder_allocate((size_t)c->max_rows * products_widest(c, 1) * sizeof *p->h, "inputs");
    p->y =
        (products_y *)decoder_allocate((size_t)c->max_rows * products_widest(c, 0) * sizeof *p->y, "outputs");
    products_scratch_open(&p->scratch, c, model);
    p->layers =
        (struct products_stored(*)[PRODUCTS_MATRICES])calloc((size_t)c->layers + 1, sizeof *p->layers);
    for (int layer = 0; layer < c->layers; layer++)
        for (int i = 0; i < PRODUCTS_MATRICES; i++)
            products_upload(p, model, (enum products_matrix)i, layer, &p->layers[layer][i]);
    return &p->calls;
}

/** @brief Releases them. */
static inline void products_close(struct engine_products *calls)
{
    struct products *p = (struct products *)calls;
    for (int layer = 0; layer < p->engine->config.layers; layer++)
        for (int i = 0; i < PRODUCTS_MATRICES; i++) products_stored_close(&p->layers[layer][i]);
    products_scratch_close(&p->scratch);
    cudaFree(p->h);
    cudaFree(p->y);
    free(p->layers);
    free(p);
}

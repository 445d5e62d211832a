/**
 * @file products_experts.h
 * @brief Experts in place of an MLP (Qwen3-MoE), by lesson 21's kernels. Attention's matrices are f16 among the weights.
 */
#pragma once

#include "mixture_of_experts.h"
#include "products.h"

/** @brief The experts of a layer; device, f16. */
struct products_layer {
    __half *router;  /**< [experts, hidden] */
    __half *gate_up; /**< [experts, 2 * intermediate, hidden] */
    __half *down;    /**< [experts, hidden, intermediate] */
};

/** @brief All layers, and what they work with. */
struct products {
    struct engine_products calls;      /**< first: a pointer to it is one to all of it */
    const struct engine_model *engine; /**< sizes, and the norms' gains */
    struct experts_args args;          /**< all but tokens and weights */
    __half *h;                         /**< [max_rows, hidden] */
    __half *y;                         /**< [max_rows, hidden] */
    float *logits;                     /**< [max_rows, experts] of the router */
    struct products_layer *layers;
};

/** @brief Block (row), a warp for every eighth expert: logits = router h, in f32. */
static __global__ void products_router_kernel(float *logits, const __half *h, const __half *router,
                                              int experts, int hidden)
{
    const int lane = (int)threadIdx.x % 32;
    const __half *of_row = h + (size_t)blockIdx.x * (size_t)hidden;
    for (int expert = (int)threadIdx.x / 32; expert < experts; expert += PRODUCT_THREADS / 32) {
        const __half *w = router + (size_t)expert * (size_t)hidden;
        float sum = 0.0f;
        for (int i = lane; i < hidden; i += 32) sum = fmaf(__half2float(of_row[i]), __half2float(w[i]), sum);
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0) logits[(size_t)blockIdx.x * (size_t)experts + (size_t)expert] = sum;
    }
}

static enum kernel_status products_mlp(const struct engine_products *self, int layer, int rows, float *x,
                                       cudaStream_t stream)
{
    const struct products *p = (const struct products *)self;
    const struct products_layer *w = &p->layers[layer];
    const struct engine_config *c = &p->engine->config;
    const __half *gain = (const __half *)p->engine->weights + engine_layer_at(c, layer).mlp_norm;
    struct experts_args args = p->args;
    args.tokens = rows, args.gate_up = w->gate_up, args.down = w->down;
    products_norm_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(p->h, x, gain, c->hidden, c->epsilon);
    enum kernel_status status = launch_status();
    if (status != KERNEL_OK) return status;
    products_router_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(p->logits, p->h, w->router, args.experts,
                                                                 c->hidden);
    status = launch_status();
    if (status == KERNEL_OK) status = mixture_of_experts(&args, stream);
    if (status != KERNEL_OK) return status;
    products_store_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(x, p->y, c->hidden, 1);
    return launch_status();
}

/** @brief The experts of a layer, to the device. */
static inline void products_upload(const struct model *model, int layer, struct products_layer *to)
{
    const struct model_config *m = model_config(model);
    const size_t matrix = (size_t)m->intermediate * (size_t)m->hidden, experts = (size_t)m->experts;
    to->router = (__half *)decoder_allocate(experts * (size_t)m->hidden * sizeof(__half), "a router");
    to->gate_up = (__half *)decoder_allocate(2 * experts * matrix * sizeof(__half), "experts");
    to->down = (__half *)decoder_allocate(experts * matrix * sizeof(__half), "experts");
    decoder_upload(model, MODEL_ROUTER, layer, to->router);
    for (size_t i = 0; i < experts; i++) {
        const int at = layer * m->experts + (int)i;
        decoder_upload(model, MODEL_GATE, at, to->gate_up + 2 * i * matrix);
        decoder_upload(model, MODEL_UP, at, to->gate_up + (2 * i + 1) * matrix);
        decoder_upload(model, MODEL_DOWN, at, to->down + i * matrix);
    }
}

/** @brief All experts of all layers, to the device. @p engine is referred to. */
static inline struct engine_products *products_open(const struct model *model,
                                                    const struct engine_model *engine)
{
    const struct model_config *m = model_config(model);
    const struct engine_config *c = &engine->config;
    struct products *p = (struct products *)calloc(1, sizeof *p);
    const size_t state = (size_t)c->max_rows * (size_t)c->hidden * sizeof(__half);
    p->calls.mlp = products_mlp;
    p->engine = engine;
    p->h = (__half *)decoder_allocate(state, "inputs");
    p->y = (__half *)decoder_allocate(state, "outputs");
    p->logits = (float *)decoder_allocate((size_t)c->max_rows * (size_t)m->experts * sizeof(float), "logits");
    p->args.tokens = c->max_rows, p->args.experts = m->experts, p->args.top_k = m->top_k;
    p->args.hidden = c->hidden, p->args.inner = c->intermediate, p->args.renormalise = m->renormalise;
    p->args.dtype = DTYPE_F16, p->args.x = p->h, p->args.logits = p->logits, p->args.out = p->y;
    p->args.workspace_bytes = mixture_of_experts_workspace_bytes(&p->args);
    if (p->args.workspace_bytes == 0) {
        fprintf(stderr,
                "generate: mixture_of_experts_workspace_bytes() says 0: lesson 21 is not written, or not "
                "for these sizes\n");
        exit(2);
    }
    p->args.workspace = decoder_allocate(p->args.workspace_bytes, "the experts' workspace");
    p->layers = (struct products_layer *)calloc((size_t)c->layers + 1, sizeof *p->layers);
    for (int layer = 0; layer < c->layers; layer++) products_upload(model, layer, &p->layers[layer]);
    return &p->calls;
}

/** @brief Releases them. */
static inline void products_close(struct engine_products *calls)
{
    struct products *p = (struct products *)calls;
    for (int layer = 0; layer < p->engine->config.layers; layer++) {
        cudaFree(p->layers[layer].router);
        cudaFree(p->layers[layer].gate_up);
        cudaFree(p->layers[layer].down);
    }
    cudaFree(p->args.workspace);
    cudaFree(p->logits);
    cudaFree(p->h);
    cudaFree(p->y);
    free(p->layers);
    free(p);
}

/**
 * @file products_w4.h
 * @brief Matrices of 4 bits, AWQ's or GPTQ's, by lesson 20's kernels: shuffled once, when the model is put on the device.
 */
#pragma once

#include "products.h"
#include "w4a16_gemm.h"

typedef __half products_y; /**< what lesson 20 stores */

/** @brief A matrix, shuffled. */
struct products_stored {
    uint32_t *weights; /**< w4a16_weight_words() */
    uint32_t *zeros;   /**< [k / group, n / 8] */
    __half *scales;    /**< [k / group, n] */
};

/** @brief What w4a16_split() needs, for products of too many rows for W to go straight to registers, whose tiles are too few to keep all
 *         SMs busy. */
struct products_scratch {
    void *workspace; /**< of w4a16_split() */
    size_t bytes;    /**< of it */
    int group;       /**< inputs that share a scale; 0: all of them */
};

enum { PRODUCTS_WHOLE_ROWS = 16, PRODUCTS_SPLIT_ROWS = 128, PRODUCTS_SPLITS = 4 };

static inline void products_scratch_open(struct products_scratch *s, const struct engine_config *c,
                                         const struct model *model)
{
    s->group = model_config(model)->group;
    s->bytes = (size_t)4 * PRODUCTS_SPLIT_ROWS * PRODUCTS_SPLITS * products_widest(c, 0);
    s->workspace = decoder_allocate(s->bytes, "the workspace of parts of k");
}

static inline void products_scratch_close(struct products_scratch *s)
{
    cudaFree(s->workspace);
}

static inline void products_stored_close(struct products_stored *m)
{
    cudaFree(m->weights);
    cudaFree(m->zeros);
    cudaFree(m->scales);
}

#include "products_layers.h"

static enum kernel_status products_multiply(const struct products *p, enum products_matrix matrix, int layer,
                                            int rows, const __half *a, cudaStream_t stream)
{
    const struct products_stored *m = &p->layers[layer][matrix];
    struct w4a16_args args = {};
    products_shape(&p->engine->config, matrix, &args.n, &args.k);
    args.m = rows, args.group = p->scratch.group > 0 ? p->scratch.group : args.k;
    args.lda = args.k, args.ldc = args.n, args.splits = PRODUCTS_SPLITS, args.dtype = DTYPE_F16;
    args.a = a, args.weights = m->weights, args.scales = m->scales, args.zeros = m->zeros, args.c = p->y;
    args.workspace = p->scratch.workspace, args.workspace_bytes = p->scratch.bytes;
    const int split = rows > PRODUCTS_WHOLE_ROWS && rows <= PRODUCTS_SPLIT_ROWS;
    return rows <= W4_VECTOR_ROWS ? w4a16_vector(&args, stream)
           : split                ? w4a16_split(&args, stream)
                                  : w4a16_tensor(&args, stream);
}

/** @brief A part of all tensors of a matrix, column by column one behind the other, in host memory; the caller frees it. */
static inline char *products_join(const struct model *model, enum products_matrix matrix, int layer,
                                  enum model_part part, size_t *bytes)
{
    size_t rows = 0, width = 0, begin = 0;
    const int count = products_tensors[matrix].count;
    const struct tensor *parts[3];
    for (int i = 0; i < count; i++) {
        parts[i] = model_part(model, products_tensors[matrix].tensors[i], layer, part);
        rows = (size_t)parts[i]->shape[0];
        width += rows > 0 ? parts[i]->bytes / rows : 0;
    }
    *bytes = rows * width;
    char *joined = (char *)malloc(*bytes + 1);
    for (int i = 0; i < count; i++) {
        const size_t of_row = parts[i]->bytes / rows;
        for (size_t row = 0; row < rows; row++)
            memcpy(joined + row * width + begin, parts[i]->data + row * of_row, of_row);
        begin += of_row;
    }
    return joined;
}

/** @brief Their scales, [k / group, n], as halves in host memory; the caller frees them. */
static inline __half *products_join_scales(const struct model *model, enum products_matrix matrix, int layer,
                                           int n, int k, int group)
{
    const size_t groups = (size_t)(k / group), width = (size_t)n;
    float *floats = (float *)malloc(width * sizeof *floats);
    __half *joined = (__half *)malloc(groups * width * sizeof *joined);
    for (size_t row = 0; row < groups; row++) {
        size_t begin = 0;
        for (int i = 0; i < products_tensors[matrix].count; i++) {
            const struct tensor *part =
                model_part(model, products_tensors[matrix].tensors[i], layer, MODEL_SCALES);
            const size_t of_row = (size_t)part->shape[1];
            tensor_to_floats(part, row * of_row, of_row, floats + begin);
            begin += of_row;
        }
        decoder_round(joined + row * width, floats, width);
    }
    free(floats);
    return joined;
}

static void products_upload(struct products *p, const struct model *model, enum products_matrix matrix,
                            int layer, struct products_stored *to)
{
    struct w4a16_shuffle_args args = {};
    size_t bytes[2];
    void *there[2];
    products_shape(&p->engine->config, matrix, &args.n, &args.k);
    args.group = p->scratch.group > 0 ? p->scratch.group : args.k;
    args.format = model_config(model)->storage == MODEL_AWQ ? W4_AWQ : W4_GPTQ;
    for (int i = 0; i < 2; i++) {
        char *joined = products_join(model, matrix, layer, i == 0 ? MODEL_VALUES : MODEL_ZEROS, &bytes[i]);
        there[i] = decoder_allocate(bytes[i], "weights as they are stored");
        decoder_need(cudaMemcpy(there[i], joined, bytes[i], cudaMemcpyHostToDevice), "copying weights");
        free(joined);
    }
    const size_t scales = (size_t)(args.k / args.group) * (size_t)args.n * sizeof *to->scales;
    __half *joined = products_join_scales(model, matrix, layer, args.n, args.k, args.group);
    to->scales = (__half *)decoder_allocate(scales, "scales");
    decoder_need(cudaMemcpy(to->scales, joined, scales, cudaMemcpyHostToDevice), "copying scales");
    free(joined);
    to->weights =
        (uint32_t *)decoder_allocate(w4a16_weight_words(args.n, args.k) * sizeof(uint32_t), "weights");
    to->zeros = (uint32_t *)decoder_allocate(bytes[1], "zeros");
    args.qweight = (const uint32_t *)there[0], args.qzeros = (const uint32_t *)there[1];
    args.weights = to->weights, args.zeros = to->zeros;
    decoder_need_kernel(w4a16_shuffle(&args, 0), "lesson 20's w4a16_shuffle()");
    decoder_need(cudaDeviceSynchronize(), "shuffling weights");
    for (int i = 0; i < 2; i++) cudaFree(there[i]);
}

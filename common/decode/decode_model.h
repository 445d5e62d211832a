/**
 * @file decode_model.h
 * @brief One decode step of a small transformer: its sizes, its weights, and the device memory it works in.
 *
 * A step takes one token of each of `rows` sequences and gives the logits of the next. Everything that
 * differs from step to step (token, position, block table) is read from device memory at addresses that do
 * not.
 *
 *     x = embedding[token]
 *     for every layer:   q, k, v = rope(rms_norm(x) Wqkv)      k and v are appended to the paged cache
 *                        x += attention(q, cache) Wout
 *                        gate, up = rms_norm(x) Wgate_up;      x += (silu(gate) * up) Wdown
 *     logits = rms_norm(x) Wlogits
 *
 * Weights and the cache are f16, activations f32; sums are made in f32. A weight matrix is [outputs, inputs],
 * row-major: what belongs to one output lies together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel_status.h"

enum { DECODE_MAX_LAYERS = 32, DECODE_MAX_ROWS = 64, DECODE_ALIGNMENT = 256 };

/** @brief Sizes of the model, of the batch and of the cache. */
struct decode_config {
    int layers;        /**< 1 .. DECODE_MAX_LAYERS */
    int hidden;        /**< elements of a state */
    int heads;         /**< query heads, a multiple of kv_heads */
    int kv_heads;      /**< key/value heads */
    int head_dim;      /**< 32, 64, 96 or 128 */
    int intermediate;  /**< elements of gate and of up */
    int vocab;         /**< tokens there are */
    int max_rows;      /**< largest batch, a power of two up to DECODE_MAX_ROWS */
    int block_size;    /**< tokens of a page */
    int max_blocks;    /**< pages of a sequence at most */
    int num_blocks;    /**< pages of the cache */
    int scratch_block; /**< first of max_rows pages that no sequence owns, one for every row that only pads */
};

/** @brief A weight in f16: its bits, since this header is C. Kernels see a `__half`. */
typedef uint16_t decode_half;

/** @brief Weights of a layer; device, f16. */
struct decode_layer {
    const decode_half *attention_norm; /**< [hidden] */
    const decode_half *qkv;            /**< [(heads + 2 kv_heads) * head_dim, hidden] */
    const decode_half *out;            /**< [hidden, heads * head_dim] */
    const decode_half *mlp_norm;       /**< [hidden] */
    const decode_half *gate_up;        /**< [2 * intermediate, hidden]: all of gate, then all of up */
    const decode_half *down;           /**< [hidden, intermediate] */
};

/** @brief All weights; device, f16. */
struct decode_model {
    struct decode_config config;                  /**< its sizes */
    const decode_half *embedding;                 /**< [vocab, hidden] */
    struct decode_layer layer[DECODE_MAX_LAYERS]; /**< the first config.layers of them */
    const decode_half *final_norm;                /**< [hidden] */
    const decode_half *to_logits;                 /**< [vocab, hidden] */
};

/** @brief Device memory of a step, at addresses that stay. */
struct decode_buffers {
    int *tokens;      /**< [max_rows] */
    int *positions;   /**< [max_rows] index of the token in its sequence: it sees positions 0 .. this one */
    int *block_table; /**< [max_rows, max_blocks] page of every block_size tokens */
    float *x;         /**< [max_rows, hidden] the state */
    float *qkv;       /**< [max_rows, (heads + 2 kv_heads) * head_dim] */
    float *attended;  /**< [max_rows, heads * head_dim] */
    float *gated;     /**< [max_rows, intermediate] silu(gate) * up */
    float *logits;    /**< [max_rows, vocab] */
    void *cache;      /**< f16 [layers, 2, num_blocks, block_size, kv_heads, head_dim]: keys, then values */
};

/** @brief One step of a batch, in device memory that may be elsewhere next time. */
struct decode_batch {
    int rows;               /**< sequences, 1 .. max_rows */
    const int *tokens;      /**< [rows] */
    const int *positions;   /**< [rows] */
    const int *block_table; /**< [rows, max_blocks]; entries past the position's own are not read */
    float *logits;          /**< [rows, vocab], written */
};

/** @brief Elements of a row of q, k and v together. */
static inline size_t decode_qkv_width(const struct decode_config *c)
{
    return ((size_t)c->heads + 2 * (size_t)c->kv_heads) * (size_t)c->head_dim;
}

/** @brief ::KERNEL_OK, or ::KERNEL_INVALID_DIMENSION if a size is none that the kernels work with. */
static inline enum kernel_status decode_config_check(const struct decode_config *c)
{
    int positive = c->layers > 0 && c->hidden > 0 && c->heads > 0 && c->kv_heads > 0 && c->head_dim > 0 &&
                   c->intermediate > 0 && c->vocab > 0 && c->max_rows > 0 && c->block_size > 0 &&
                   c->max_blocks > 0 && c->num_blocks > 0;
    if (!positive || c->layers > DECODE_MAX_LAYERS || c->max_rows > DECODE_MAX_ROWS)
        return KERNEL_INVALID_DIMENSION;
    if ((c->max_rows & (c->max_rows - 1)) != 0 || c->heads % c->kv_heads != 0 || c->head_dim % 32 != 0 ||
        c->head_dim > 128)
        return KERNEL_INVALID_DIMENSION;
    if (c->scratch_block < 0 || c->scratch_block > c->num_blocks - c->max_rows)
        return KERNEL_INVALID_DIMENSION;
    return KERNEL_OK;
}

/** @brief The next @p elems weights; counts them. NULL stays NULL. */
static inline const decode_half *decode_take(const decode_half *weights, size_t *used, size_t elems)
{
    const decode_half *taken = weights == NULL ? NULL : weights + *used;
    *used += elems;
    return taken;
}

/**
 * @brief Finds the weights of a model in one array, in the order of the fields of decode_model.
 * @return the number of weights; with @p weights NULL nothing else is done
 */
static inline size_t decode_model_at(const struct decode_config *c, const decode_half *weights,
                                     struct decode_model *model)
{
    size_t used = 0, hidden = (size_t)c->hidden, inner = (size_t)c->intermediate;
    memset(model, 0, sizeof *model);
    model->config = *c;
    model->embedding = decode_take(weights, &used, (size_t)c->vocab * hidden);
    for (int i = 0; i < c->layers; i++) {
        struct decode_layer *layer = &model->layer[i];
        layer->attention_norm = decode_take(weights, &used, hidden);
        layer->qkv = decode_take(weights, &used, hidden * decode_qkv_width(c));
        layer->out = decode_take(weights, &used, (size_t)c->heads * (size_t)c->head_dim * hidden);
        layer->mlp_norm = decode_take(weights, &used, hidden);
        layer->gate_up = decode_take(weights, &used, hidden * 2 * inner);
        layer->down = decode_take(weights, &used, inner * hidden);
    }
    model->final_norm = decode_take(weights, &used, hidden);
    model->to_logits = decode_take(weights, &used, hidden * (size_t)c->vocab);
    return used;
}

/** @brief Elements of the cache. */
static inline size_t decode_cache_elems(const struct decode_config *c)
{
    return (size_t)c->layers * 2 * (size_t)c->num_blocks * (size_t)c->block_size * (size_t)c->kv_heads *
           (size_t)c->head_dim;
}

/** @brief The next array of @p elems 4-byte elements at the next aligned place of @p memory. */
static inline void *decode_place(void *memory, size_t *used, size_t elems)
{
    void *place = memory == NULL ? NULL : (char *)memory + *used;
    *used += (4 * elems + DECODE_ALIGNMENT - 1) / DECODE_ALIGNMENT * DECODE_ALIGNMENT;
    return place;
}

/**
 * @brief Lays the buffers of a step out in @p memory (device, 256-byte aligned).
 * @return the bytes they take; with @p memory NULL nothing else is done
 */
static inline size_t decode_buffers_at(const struct decode_config *c, void *memory, void *cache,
                                       struct decode_buffers *b)
{
    size_t used = 0, rows = (size_t)c->max_rows;
    b->tokens = (int *)decode_place(memory, &used, rows);
    b->positions = (int *)decode_place(memory, &used, rows);
    b->block_table = (int *)decode_place(memory, &used, rows * (size_t)c->max_blocks);
    b->x = (float *)decode_place(memory, &used, rows * (size_t)c->hidden);
    b->qkv = (float *)decode_place(memory, &used, rows * decode_qkv_width(c));
    b->attended = (float *)decode_place(memory, &used, rows * (size_t)c->heads * (size_t)c->head_dim);
    b->gated = (float *)decode_place(memory, &used, rows * (size_t)c->intermediate);
    b->logits = (float *)decode_place(memory, &used, rows * (size_t)c->vocab);
    b->cache = cache;
    return used;
}

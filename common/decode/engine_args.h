/**
 * @file engine_args.h
 * @brief The arguments of a step of a decode engine: the sizes of a decoder of the Qwen3 kind, where its weights lie, and which
 *        tokens of which requests the step computes; and the checks that every step makes.
 *
 * A *row* is one token of one request. Rows of a step are of any requests in any order, prompt or not; those of one request
 * come with all its earlier positions either in the cache or in the same step. Weights and the cache are f16.
 *
 *     weights   embedding, then for each layer norm, qkv, q norm, k norm, o, norm, gate, up, down; last norm; head if not tied
 *               (without the matrices of config.elsewhere)
 *     cache     [layers, 2 (keys, values), num_blocks, block_size, kv_heads, head_dim]
 *
 * Position p of a request lies in block `table[p / block_size]` of each layer, at `p % block_size`.
 */
#pragma once

#include "attention_args.h"

enum {
    ENGINE_DIVISOR = 32,     /**< of hidden and intermediate: what four lanes load of a row at once */
    ENGINE_MOST_ROWS = 65535 /**< rows of a step at most: a grid has no more blocks in y */
};

/** @brief Flags: which matrices of the layers are not among the weights, but reached through struct engine_products. */
enum { ENGINE_ATTENTION_ELSEWHERE = 1 /**< qkv and o */, ENGINE_MLP_ELSEWHERE = 2 /**< gate_up and down */ };

/** @brief Products with matrices elsewhere: 4-bit weights, 8-bit weights, experts. Declared in decode_engine.h. */
struct engine_products;

/** @brief Sizes and constants of a decoder, of its cache and of its steps. */
struct engine_config {
    int layers;       /**< blocks of attention and MLP; 0 is allowed */
    int hidden;       /**< elements of a state, a multiple of 32 */
    int heads;        /**< query heads, a multiple of kv_heads */
    int kv_heads;     /**< key/value heads */
    int head_dim;     /**< 32, 64 or 128 */
    int intermediate; /**< elements of gate and of up, a multiple of 32 */
    int vocab;        /**< rows of embedding and head */
    int tied;         /**< 1: the head is the embedding; else 0 */
    int block_size;   /**< positions of a block of the cache */
    int num_blocks;   /**< blocks of the cache */
    int max_blocks;   /**< entries of a request's block table */
    int max_rows;     /**< rows of a step, 1 .. ::ENGINE_MOST_ROWS */
    float epsilon;    /**< of RMSNorm */
    float rope_base;  /**< of the rotary position embedding */
    int elsewhere;    /**< matrices that are not among the weights; 0: all of them are */
};

/** @brief A decoder. */
struct engine_model {
    struct engine_config config; /**< its sizes */
    const void *weights;         /**< device, f16 [engine_weight_elems()], aligned to 16 bytes */
    void *cache;     /**< device, f16 [engine_cache_elems()], aligned to 16 bytes; kept from step to step */
    void *workspace; /**< device scratch memory, 256-byte aligned */
    size_t workspace_bytes;                 /**< size of it */
    const struct engine_products *products; /**< host; not looked at where nothing is elsewhere */
};

/** @brief One step. All pointers are device pointers, read when the kernels run. */
struct engine_batch {
    int rows;          /**< tokens, 1 .. max_rows */
    int wanted;        /**< rows whose logits are wanted, 0 .. rows */
    const int *tokens; /**< [rows] each 0 .. vocab - 1; ignored of a row that pads */
    /** [rows] each below max_blocks * block_size; negative: the row pads, see engine_step() */
    const int *positions;
    const int *requests; /**< [rows] row of block_tables; ignored of a row that pads */
    /** [.., max_blocks] block tables; entries past a request's last position are not read */
    const int *tables;
    /** [wanted] numbers of rows, in any order; negative: that row of logits stays as it is */
    const int *wanted_rows;
    float *logits; /**< [wanted, vocab] */
};

/** @brief Where the weights of a layer begin, in elements of the array of weights. */
struct engine_layer {
    size_t input_norm; /**< [hidden] */
    size_t qkv;        /**< [(heads + 2 kv_heads) * head_dim, hidden] query heads, then keys, then values */
    size_t q_norm;     /**< [head_dim] */
    size_t k_norm;     /**< [head_dim] */
    size_t o;          /**< [hidden, heads * head_dim] */
    size_t mlp_norm;   /**< [hidden] */
    size_t gate_up;    /**< [2 * intermediate, hidden] gate, then up */
    size_t down;       /**< [hidden, intermediate] */
    size_t end;        /**< behind the layer */
};

/** @brief Elements of a row's queries. */
static inline size_t engine_q_width(const struct engine_config *c)
{
    return (size_t)c->heads * (size_t)c->head_dim;
}

/** @brief Elements of a row's keys, and of its values. */
static inline size_t engine_kv_width(const struct engine_config *c)
{
    return (size_t)c->kv_heads * (size_t)c->head_dim;
}

/** @brief Elements of the embedding, and of a head of its own. */
static inline size_t engine_embedding_elems(const struct engine_config *c)
{
    return ((size_t)c->vocab * (size_t)c->hidden + 7) / 8 * 8;
}

/** @brief Where layer @p index lies. */
static inline struct engine_layer engine_layer_at(const struct engine_config *c, int index)
{
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim, inner = (size_t)c->intermediate;
    const size_t q = c->elsewhere & ENGINE_ATTENTION_ELSEWHERE ? 0 : engine_q_width(c) * hidden;
    const size_t kv = c->elsewhere & ENGINE_ATTENTION_ELSEWHERE ? 0 : engine_kv_width(c) * hidden;
    const size_t one = c->elsewhere & ENGINE_MLP_ELSEWHERE ? 0 : inner * hidden;
    struct engine_layer at;
    at.input_norm = 0;
    at.qkv = at.input_norm + hidden;
    at.q_norm = at.qkv + q + 2 * kv;
    at.k_norm = at.q_norm + dim;
    at.o = at.k_norm + dim;
    at.mlp_norm = at.o + q;
    at.gate_up = at.mlp_norm + hidden;
    at.down = at.gate_up + 2 * one;
    at.end = at.down + one;
    const size_t first = engine_embedding_elems(c) + (size_t)index * at.end;
    size_t *const places[] = {&at.input_norm, &at.qkv,     &at.q_norm, &at.k_norm, &at.o,
                              &at.mlp_norm,   &at.gate_up, &at.down,   &at.end};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) *places[i] += first;
    return at;
}

/** @brief Where the gain of the last norm lies. */
static inline size_t engine_last_norm_at(const struct engine_config *c)
{
    return engine_layer_at(c, c->layers).input_norm;
}

/** @brief Where the head lies: [vocab, hidden]. */
static inline size_t engine_head_at(const struct engine_config *c)
{
    return c->tied ? 0 : engine_last_norm_at(c) + (size_t)c->hidden;
}

/** @brief Elements of the array of weights. */
static inline size_t engine_weight_elems(const struct engine_config *c)
{
    return engine_last_norm_at(c) + (size_t)c->hidden + (c->tied ? 0 : engine_embedding_elems(c));
}

/** @brief Elements of the keys of one layer, and of its values. */
static inline size_t engine_slice_elems(const struct engine_config *c)
{
    return (size_t)c->num_blocks * (size_t)c->block_size * engine_kv_width(c);
}

/** @brief Elements of the cache. */
static inline size_t engine_cache_elems(const struct engine_config *c)
{
    return (size_t)c->layers * 2 * engine_slice_elems(c);
}

/** @brief 1 if all sizes are in their ranges, and products of them fit. */
static inline int engine_config_fits(const struct engine_config *c)
{
    if (c->layers < 0 || c->hidden < 1 || c->heads < 1 || c->kv_heads < 1 || c->intermediate < 1 ||
        c->vocab < 1 || c->block_size < 1 || c->num_blocks < 1 || c->max_blocks < 1)
        return 0;
    if (c->heads % c->kv_heads != 0 || c->hidden % ENGINE_DIVISOR != 0 ||
        c->intermediate % ENGINE_DIVISOR != 0 ||
        (c->head_dim != 32 && c->head_dim != 64 && c->head_dim != 128))
        return 0;
    if (c->max_rows < 1 || c->max_rows > ENGINE_MOST_ROWS || (c->tied != 0 && c->tied != 1)) return 0;
    if ((c->elsewhere & ~(ENGINE_ATTENTION_ELSEWHERE | ENGINE_MLP_ELSEWHERE)) != 0) return 0;
    /* Any of these may be as large as this, and no sum of products of two is larger than 63 bits hold. */
    const int most = 1 << 24;
    if (c->layers > 4096 || c->hidden > most || c->heads > most / c->head_dim || c->intermediate > most ||
        c->vocab > most || c->block_size > most || c->num_blocks > most || c->max_blocks > most)
        return 0;
    uint64_t positions = (uint64_t)c->max_blocks, cache = (uint64_t)c->num_blocks;
    return multiply_fits(&positions, (uint64_t)c->block_size, INT_MAX) &&
           multiply_fits(&cache, (uint64_t)c->block_size, INT_MAX) &&
           multiply_fits(&cache, (uint64_t)engine_kv_width(c), INT64_MAX / 32768);
}

/**
 * @brief Checks pointers and constants, sizes, alignment and workspace, in that order: of several faults the first decides.
 *        Nothing in device memory is looked at.
 * @param model           may be NULL
 * @param batch           may be NULL
 * @param workspace_bytes what the step needs
 * @return ::KERNEL_OK; ::KERNEL_INVALID_CONFIG (a null pointer but the workspace's, wanted_rows and logits where none
 *         are wanted, and products where nothing is elsewhere; epsilon not finite or negative, rope_base not finite or not above 0); ::KERNEL_INVALID_DIMENSION (the
 *         configuration, rows, wanted); ::KERNEL_ALIGNMENT_ERROR (weights and cache: 16 bytes, the others: 4);
 *         ::KERNEL_OUT_OF_MEMORY; ::KERNEL_ALIGNMENT_ERROR (workspace: 256)
 */
static inline enum kernel_status engine_check(const struct engine_model *model,
                                              const struct engine_batch *batch, size_t workspace_bytes)
{
    if (model == NULL || batch == NULL || model->weights == NULL || model->cache == NULL ||
        (model->config.elsewhere != 0 && model->products == NULL))
        return KERNEL_INVALID_CONFIG;
    if (batch->tokens == NULL || batch->positions == NULL || batch->requests == NULL || batch->tables == NULL)
        return KERNEL_INVALID_CONFIG;
    if (batch->wanted > 0 && (batch->wanted_rows == NULL || batch->logits == NULL))
        return KERNEL_INVALID_CONFIG;
    const struct engine_config *c = &model->config;
    if (!isfinite(c->epsilon) || c->epsilon < 0.0f || !isfinite(c->rope_base) || c->rope_base <= 0.0f)
        return KERNEL_INVALID_CONFIG;
    if (!engine_config_fits(c) || batch->rows < 1 || batch->rows > c->max_rows || batch->wanted < 0 ||
        batch->wanted > batch->rows)
        return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(model->weights, 16) || !is_aligned(model->cache, 16) || !is_aligned(batch->tokens, 4) ||
        !is_aligned(batch->positions, 4) || !is_aligned(batch->requests, 4) ||
        !is_aligned(batch->tables, 4) || !is_aligned(batch->wanted_rows, 4) || !is_aligned(batch->logits, 4))
        return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes == 0) return KERNEL_OK;
    if (model->workspace == NULL || model->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
    return is_aligned(model->workspace, 256) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/**
 * @file model.h
 * @brief A decoder of the Qwen3 kind: its sizes, and its weights, from a folder in the layout of Hugging
 *        Face's transformers or from a seed.
 *
 * A folder holds `config.json` and the weights, as `model.safetensors` or as the files that
 * `model.safetensors.index.json` names. Everything is checked when the folder is opened: a model that has been opened has
 * every tensor, with its shape and an element type that can be read.
 *
 * The matrices of the layers may be stored in fewer bits, as `quantization_config` says: 4 bits by AWQ or GPTQ (contracts/w4a16_args.h
 * shows their words), or 8 by compressed-tensors (one scale for each output). A layer may have experts (Qwen3-MoE) in place of its MLP.
 */
#pragma once

#include "safetensors.h"

/** @brief Largest number of tokens in a configuration that end a text. */
enum { MODEL_MOST_STOPS = 8 };

/** @brief How the matrices of the layers are stored. */
enum model_storage {
    MODEL_FLOATS, /**< f32, f16 or bf16 */
    MODEL_AWQ,    /**< 4 bits, `quant_method` awq */
    MODEL_GPTQ,   /**< 4 bits, gptq */
    MODEL_INT8 /**< 8 bits, compressed-tensors: activations are rounded to 8 bits, too, row by row when they are multiplied */
};

/** @brief Sizes and constants of a decoder. */
struct model_config {
    int layers;                  /**< number of blocks of attention and MLP */
    int hidden;                  /**< elements of a state */
    int heads;                   /**< query heads, a multiple of kv_heads */
    int kv_heads;                /**< key/value heads */
    int head_dim;                /**< even */
    int intermediate;            /**< number of elements of gate and of up, of one expert if there are any */
    int vocab;                   /**< rows of the embedding */
    int max_context;             /**< largest number of positions that the model was made for */
    int tied;                    /**< 1: the head shares the embedding's weights */
    double epsilon;              /**< of RMSNorm */
    double rope_base;            /**< of the rotary position embedding, rope_theta */
    int stops[MODEL_MOST_STOPS]; /**< tokens that end a text */
    int stop_count;              /**< of them */
    int experts;                 /**< of each layer; 0: an MLP */
    int top_k;                   /**< experts of a token */
    int renormalise;             /**< 1: their weights are divided by their sum, norm_topk_prob */
    enum model_storage storage;  /**< of the matrices of the layers */
    int group;                   /**< of 4 bits: inputs that share a scale; 0: all of them */
};

/** @brief Tensors of a decoder. Those before MODEL_LAYER_TENSORS exist once per layer. */
enum model_tensor {
    MODEL_INPUT_NORM, /**< [hidden] */
    MODEL_Q,          /**< [heads * head_dim, hidden] */
    MODEL_K,          /**< [kv_heads * head_dim, hidden] */
    MODEL_V,          /**< as MODEL_K */
    MODEL_Q_NORM,     /**< [head_dim] */
    MODEL_K_NORM,     /**< [head_dim] */
    MODEL_O,          /**< [hidden, heads * head_dim] */
    MODEL_MLP_NORM,   /**< [hidden] */
    MODEL_GATE,       /**< [intermediate, hidden] */
    MODEL_UP,         /**< as MODEL_GATE */
    MODEL_DOWN,       /**< [hidden, intermediate] */
    MODEL_ROUTER,     /**< [experts, hidden], if there are any */
    MODEL_LAYER_TENSORS,
    MODEL_EMBEDDING = MODEL_LAYER_TENSORS, /**< [vocab, hidden] */
    MODEL_LAST_NORM,                       /**< [hidden] */
    MODEL_HEAD,                            /**< [vocab, hidden]; for a tied model the embedding */
    MODEL_TENSORS
};

/** @brief What a matrix is stored as. */
enum model_part {
    MODEL_VALUES, /**< `weight`, or `qweight` of 4 bits: its elements */
    MODEL_SCALES, /**< `scales` [inputs / group, outputs], or of 8 bits `weight_scale` [outputs, 1] */
    MODEL_ZEROS,  /**< `qzeros` */
    MODEL_ORDER, /**< `g_idx` of GPTQ, the group of each input: only the order in which they lie is accepted */
    MODEL_PARTS
};

/** @brief An open model; model_close() releases it. */
struct model;

/** @brief Opens the folder @p path; NULL after writing what is wrong to @p error. */
struct model *model_open(const char *path, char error[MODEL_ERROR]);
/** @brief A model of those sizes with weights from @p seed. The embedding has standard deviation 0.02,
 *         matrices keep the size of what they are multiplied with, and norms are near 1. */
struct model *model_from_seed(const struct model_config *config, uint64_t seed);
/** @brief Unmaps the files and releases the model; NULL is left alone. */
void model_close(struct model *model);

/** @brief The model's sizes and constants, valid until it is closed. */
const struct model_config *model_config(const struct model *model);

/** @brief Rows and columns of a tensor; a vector has one row. */
void model_shape(const struct model_config *config, enum model_tensor tensor, int64_t *rows,
                 int64_t *columns);

/**
 * @brief Elements first .. first + count - 1 of a tensor of floats, exactly as stored; from a seed, rounded to bfloat16's
 *        8 bits, which f16 and f32 hold too.
 * @param[in]  model   from model_open() or model_from_seed()
 * @param[in]  tensor  which one
 * @param[in]  layer   0 .. layers - 1; 0 for tensors that are there once; of an expert's matrix layer * experts + expert
 * @param[in]  first   of its elements, row by row
 * @param[in]  count   elements, first + count at most as many as it has
 * @param[out] to      [count]
 */
void model_read(const struct model *model, enum model_tensor tensor, int layer, size_t first, size_t count,
                float *to);

/** @brief A part of a matrix of a layer, as it lies in its file; NULL if it has no such part, or the model is from a seed. */
const struct tensor *model_part(const struct model *model, enum model_tensor tensor, int layer,
                                enum model_part part);

/** @brief 1 if the tensor is one of the matrices whose elements config->storage is about. */
int model_is_matrix(enum model_tensor tensor);

/** @brief Reads @p path, a config.json; 0, or -1 with @p error set. model_open() does this for a folder. */
int model_config_read(struct model_config *config, const char *path, char error[MODEL_ERROR]);

/** @brief The sizes of a known model, "0.6B" or "8B"; 0, or -1 if the name is unknown. */
int model_config_named(struct model_config *config, const char *name);

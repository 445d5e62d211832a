/**
 * @file decode_step.h
 * @brief The oracle of a decode step: one token of one sequence after another, in float64.
 *
 * There are no pages and no batches here: a sequence is its own array of keys and values. (The header
 * common/decode/decode_model.h describes the step as kernels see it; this one knows nothing of it.)
 */
#pragma once

#include <stddef.h>

/** @brief Sizes of a transformer. */
struct ref_decode_sizes {
    int layers;       /**< >= 1 */
    int hidden;       /**< elements of a state */
    int heads;        /**< query heads, a multiple of kv_heads */
    int kv_heads;     /**< key/value heads */
    int head_dim;     /**< elements of a head, even */
    int intermediate; /**< elements of gate and of up */
    int vocab;        /**< tokens there are */
};

/** @brief A sequence so far. */
struct ref_decode_sequence {
    size_t capacity; /**< positions there is room for */
    double *keys;    /**< [layers, capacity, kv_heads, head_dim], turned and rounded */
    double *values;  /**< the same */
};

/** @brief What the error bounds are made of; each may be NULL. */
struct ref_decode_magnitudes {
    double *logits; /**< [vocab] sum of |normed state * weight| */
    double *keys;   /**< [layers, kv_heads, head_dim] the same for the new keys, larger of the rotated pair */
    double *values; /**< [layers, kv_heads, head_dim] */
    double *unstored_keys;   /**< [layers, kv_heads, head_dim] the new keys before they are stored */
    double *unstored_values; /**< [layers, kv_heads, head_dim] */
};

/** @brief How numbers are kept. */
struct ref_decode_rounding {
    /** Of a key or value that is a sum of @p terms products whose sizes add up to @p magnitude, and that was @p beside
     *  in the other computation of `beside`; NULL for none. */
    double (*stored)(double x, double beside, int terms, double magnitude);
    int single; /**< 1: every result is rounded to float, as a plain f32 computation does */
    /** Of another computation of this step, whose keys and values are those beside; NULL: they are x. */
    const struct ref_decode_magnitudes *beside;
};

/** @brief Floats of a model's weights. */
size_t ref_decode_weight_elems(const struct ref_decode_sizes *sizes);

/** @brief Doubles of scratch memory that ref_decode_step() needs for @p capacity positions. */
size_t ref_decode_scratch_elems(const struct ref_decode_sizes *sizes, size_t capacity);

/**
 * @brief Takes a token at @p position, adds its keys and values to the sequence, and gives the logits of
 * the next.
 *
 * @param[in]     sizes      of the model
 * @param[in]     weights    host, f32 (as f16 rounds them): embedding; of every layer norm, qkv, out, norm, gate and up, down;
 *                           norm, logits. Matrices are [outputs, inputs]
 * @param[in]     rounding   how numbers are kept
 * @param[in]     token      0 .. vocab - 1
 * @param[in]     position   0 .. capacity - 1; all before it are in the sequence
 * @param[in,out] sequence   keys and values
 * @param[out]    logits     host, f64 [vocab]
 * @param[out]    magnitudes what the bounds need, or NULL
 * @param[in]     scratch    host, f64 [ref_decode_scratch_elems()]
 * @see Su et al. 2021 (RoPE, here with halves of a head paired), Zhang and Sennrich 2019 (RMSNorm),
 *      Shazeer 2020 (SwiGLU)
 */
void ref_decode_step(const struct ref_decode_sizes *sizes, const float *weights,
                     const struct ref_decode_rounding *rounding, int token, int position,
                     struct ref_decode_sequence *sequence, double *logits,
                     const struct ref_decode_magnitudes *magnitudes, double *scratch);

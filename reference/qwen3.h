/**
 * @file qwen3.h
 * @brief The oracle of a decoder of the Qwen3 kind: logits at every position of a text, in float64, and how far a
 *        computation that rounds on the way may be from them.
 *
 * A layer is x += O attention(rope(norm(Q h)), rope(norm(K h)), V h) with h = norm(x), then x += D (silu(G h) * U h) with
 * another h = norm(x); norm is RMSNorm, of q and k head by head. Logits are norm(x) times the head.
 *
 * **How errors grow.** Every rounding is taken as independent and evenly spread over +- u |value|, which is a variance of
 * u^2 value^2 / 3, and variances are carried through each operation to first order: a product with a matrix adds them times
 * the squares of its weights; softmax moves by sum_j p_j (v_j - o) ds_j; a norm by no more than its factor times dx, for its
 * derivative is that factor times a projection. So the bound is a number of standard deviations, not a worst case, which
 * would multiply at each product by the root of the number of terms and say nothing after two layers.
 * (Higham and Mary 2019, A new approach to probabilistic rounding error analysis.)
 *
 * **Errors with one cause.** Carried through so, the errors of a vector's elements count as independent. They are not where one
 * rounding reaches all of them, as the rounding of one score reaches a whole head where two keys share the weight: then some
 * logits move by several of these deviations. So computations whose every rounding is drawn at random run beside the exact one
 * (Vignes 1993, A stochastic arithmetic for reliable scientific computation), and where the root mean square of what they are off
 * by is larger, it is the deviation.
 */
#pragma once

#include <stddef.h>

/** @brief Sizes and constants. */
struct ref_qwen3_sizes {
    int layers;       /**< blocks of attention and MLP */
    int hidden;       /**< elements of a state */
    int heads;        /**< query heads */
    int kv_heads;     /**< key/value heads */
    int head_dim;     /**< elements of a head, even */
    int intermediate; /**< elements of gate and of up */
    int vocab;        /**< tokens */
    double epsilon;   /**< of RMSNorm */
    double rope_base; /**< of the rotary position embedding */
    int experts;      /**< of each layer, in place of its MLP; 0: none */
    int top_k;        /**< experts of a token, at most 32 */
    int renormalise;  /**< 1: their weights are divided by their sum */
};

/** @brief Weights of one layer, as floats; shapes as in common/model/model.h. Products with matrices that are NULL are 0, whatever they
 *         are of: q, k, v and o, or gate, up and down. */
struct ref_qwen3_layer {
    const float *input_norm; /**< MODEL_INPUT_NORM */
    const float *q;          /**< MODEL_Q */
    const float *k;          /**< MODEL_K */
    const float *v;          /**< MODEL_V */
    const float *q_norm;     /**< MODEL_Q_NORM */
    const float *k_norm;     /**< MODEL_K_NORM */
    const float *o;          /**< MODEL_O */
    const float *mlp_norm;   /**< MODEL_MLP_NORM */
    const float *gate;       /**< MODEL_GATE, of all experts one after another */
    const float *up;         /**< MODEL_UP, likewise */
    const float *down;       /**< MODEL_DOWN, likewise */
    const float *router;     /**< MODEL_ROUTER; not looked at without experts */
};

/** @brief All weights, as floats. */
struct ref_qwen3_weights {
    const float *embedding;               /**< [vocab, hidden] */
    const float *last_norm;               /**< [hidden] */
    const float *head;                    /**< [vocab, hidden] */
    const struct ref_qwen3_layer *layers; /**< [layers] */
};

/** @brief What the computation that is judged rounds to: 0 is exact. */
struct ref_qwen3_rounding {
    double
        stored; /**< unit roundoff of what is stored between kernels: h, q, k, v, what attention and the gate give */
    double sums;   /**< unit roundoff of accumulators and of x */
    double scores; /**< unit roundoff of softmax's weights where they are multiplied with V */
    int drawn; /**< computations with random roundings, beside which the deviation is made; 0: of the model alone */
    double products; /**< unit roundoff of what products with a layer's matrices give, and of their weights */
    double
        levels; /**< what such a product takes is rounded to the largest of the row / levels; 0: it is not */
};

/** @brief Keys, after norm and rotation, and values: of positions before a text, and what the text adds to them. */
struct ref_qwen3_cache {
    size_t given; /**< positions before the first token */
    const float *
        before; /**< [layers, 2 (keys, values), given, kv_heads, head_dim]; not looked at if there are none */
    double *added;           /**< [layers, 2, count, kv_heads, head_dim] of the tokens; NULL: not wanted */
    double *added_deviation; /**< likewise, the standard deviation of another computation's */
};

/** @brief Doubles of scratch memory that ref_qwen3_logits() needs for @p count tokens behind @p given positions. */
size_t ref_qwen3_scratch_elems(const struct ref_qwen3_sizes *sizes, size_t count, size_t given);

/**
 * @brief Logits after each of @p count tokens.
 * @param[in]  sizes      of the decoder
 * @param[in]  weights    of it
 * @param[in]  tokens     [count], each 0 .. vocab - 1
 * @param[in]  count      tokens, at least 1
 * @param[in]  rounding   of the computation that @p deviation is about
 * @param[in,out] cache   of earlier positions, and for those of the tokens; NULL: there are none, and none is wanted
 * @param[out] logits     [count, vocab]
 * @param[out] deviation  [count, vocab] standard deviation of that computation's logits; NULL: not wanted
 * @param      scratch    [ref_qwen3_scratch_elems()]
 */
void ref_qwen3_logits(const struct ref_qwen3_sizes *sizes, const struct ref_qwen3_weights *weights,
                      const int *tokens, size_t count, const struct ref_qwen3_rounding *rounding,
                      const struct ref_qwen3_cache *cache, double *logits, double *deviation,
                      double *scratch);

/** @brief Doubles of scratch memory that ref_layer_step() needs with @p keys keys, the new one among them. */
size_t ref_layer_scratch_elems(const struct ref_qwen3_sizes *sizes, size_t keys);

/** @brief A token's way through one layer. */
struct ref_layer_step {
    const float *x;             /**< [hidden] before */
    const float *keys;          /**< [kv_heads, room, head_dim] of earlier tokens */
    const float *values;        /**< [kv_heads, room, head_dim] */
    size_t room;                /**< keys from one head to the next */
    size_t position;            /**< of this token: earlier ones have 0 .. position - 1 */
    double *out;                /**< [hidden] x after the layer */
    double *deviation;          /**< [hidden] standard deviation of what else computes it */
    double *appended;           /**< [2, kv_heads, head_dim] the token's key and value */
    double *appended_deviation; /**< [2, kv_heads, head_dim] */
};

/**
 * @brief One layer without its norms and rotation, for one token: x += O attention(Q x, K x, V x), then x += D (silu(G x) * U x).
 *        Errors grow as above.
 * @param[in]     sizes    layers, vocab, epsilon and rope_base are not looked at
 * @param[in]     weights  the norms are not looked at
 * @param[in]     rounding of the computation that the deviations are about
 * @param[in,out] step     its arrays are filled
 * @param         scratch  [ref_layer_scratch_elems()]
 */
void ref_layer_step(const struct ref_qwen3_sizes *sizes, const struct ref_qwen3_layer *weights,
                    const struct ref_qwen3_rounding *rounding, const struct ref_layer_step *step,
                    double *scratch);

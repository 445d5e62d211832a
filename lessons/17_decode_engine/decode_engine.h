/**
 * @file decode_engine.h
 * @brief Lesson 17: one step of a decoder of the Qwen3 kind, for any tokens of any requests, over a paged cache.
 *
 *     x = embedding[token]
 *     each layer:   h = norm(x)     q, k, v = W_qkv h      k, v appended to the cache     x += W_o attention(q, keys, values)
 *                   h = norm(x)     x += W_down (silu(W_gate h) * W_up h)
 *     logits = W_head norm(x)
 *
 * norm is RMSNorm: x / sqrt(mean(x^2) + epsilon) * gain. Each head of q and of k is normalised in the same way with the gains
 * q_norm and k_norm, then rotated: elements d and d + head_dim / 2 are a pair, turned by position * rope_base^(-2 d / head_dim).
 * A query sees the keys of its request at positions 0 .. its own, scores times 1 / sqrt(head_dim). Query head h reads key/value
 * head h / (heads / kv_heads). x, sums and softmax are f32; h, q, k, v, what attention gives and silu * up are rounded to f16.
 *
 * Matrices of the layers may be *elsewhere*: then struct engine_products multiplies with them, and these bits are its own.
 *
 * **Batched equals alone, bit for bit.** Every sum is taken in an order that depends on the sizes of the model only: what a row
 * gives does not depend on the other rows, on where it stands among them, or on how a prompt was cut into steps.
 * @see engine_args.h for sizes, weights and batch; oracle: ref_qwen3_logits() in reference/qwen3.h
 */
#ifndef WARPWISE_DECODE_ENGINE_H
#define WARPWISE_DECODE_ENGINE_H

#include <cuda_runtime_api.h>

#include "engine_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Who multiplies with matrices that are not f16 among the weights. Host functions, which launch and do not wait; each is called
 *        only for matrices that the configuration says are elsewhere. rows: all of the step's, also those that pad.
 */
struct engine_products {
    /** qkv [rows, (heads + 2 kv_heads) * head_dim] f32 = W_qkv norm(x), of x [rows, hidden] f32 */
    enum kernel_status (*qkv)(const struct engine_products *self, int layer, int rows, const float *x,
                              float *qkv, cudaStream_t stream);
    /** x += W_o attended, f16 [rows, heads * head_dim] */
    enum kernel_status (*o)(const struct engine_products *self, int layer, int rows, const void *attended,
                            float *x, cudaStream_t stream);
    /** x += MLP(norm(x)) */
    enum kernel_status (*mlp)(const struct engine_products *self, int layer, int rows, float *x,
                              cudaStream_t stream);
};

/**
 * @brief Bytes of scratch memory that a step of up to max_rows rows needs. It depends on the configuration only.
 * @return the size, no more than 8 * max_rows * (hidden + 2 * (heads + kv_heads) * head_dim + intermediate)
 *         + 5 * heads * head_dim * (head_dim + 16) + 4096; 0 if the configuration is NULL or not valid
 */
size_t engine_workspace_bytes(const struct engine_config *config);

/**
 * @brief Computes one step: keys and values of all rows go to the cache, logits of the wanted rows are written.
 *
 * Nothing is allocated or waited for, and nothing that differs from step to step is read on the host but `rows` and `wanted`: a
 * step may be captured into a graph and replayed with other tokens, positions and tables at the same addresses. A graph has room
 * for a number of rows; those that it has no tokens for pad: their position is negative, they write nothing to the cache, and
 * their token, request and table are not looked at. They may be computed otherwise.
 * Not checked, being in device memory: tokens, positions, requests and blocks outside of their ranges; whether a place in the cache
 * that a row of this step writes is in another request's table, too. Requests may share what earlier steps wrote.
 * @param[in] model  decoder, cache and workspace
 * @param[in] batch  rows and what is wanted of them
 * @param[in] stream where to launch
 * @return what engine_check() says; ::KERNEL_UNSUPPORTED_ARCHITECTURE on a GPU older than sm_80; ::KERNEL_CUDA_ERROR; what
 *         model->products says. A step
 *         that is refused leaves no trace
 * @launch 1 + 6 * layers kernels, of up to 2 rows 1 + 5 * layers, and one for the logits if any are wanted
 * @cost 2 operations per weight and row; the weights, read once for every 8 rows, or 32 to 128 of many; keys and values of each row's request
 */
enum kernel_status engine_step(const struct engine_model *model, const struct engine_batch *batch,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif

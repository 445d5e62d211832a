/**
 * @file products.h
 * @brief What products with matrices elsewhere have in common: the norm before a product, what comes after it, memory, and the
 *        matrices of a layer. One of products_f16.h, products_w4.h, products_int8.h and products_experts.h is built in.
 *
 *     qkv = W_qkv norm(x)        h, then one product of all heads
 *     x  += W_o attended
 *     x  += W_down (silu(W_gate h) * W_up h)        h = norm(x), one product of gate and up
 */
#pragma once

#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode_engine.h"
#include "kernel_launch.h"

extern "C" {
#include "model/model.h"
}

/** @brief Ends the program if the runtime refused something. */
static inline void decoder_need(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "generate: %s: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

/** @brief Ends the program if a kernel of another lesson refused something. */
static inline void decoder_need_kernel(enum kernel_status status, const char *what)
{
    if (status == KERNEL_OK) return;
    fprintf(stderr, "generate: %s says %s\n", what, kernel_status_name(status));
    exit(2);
}

/** @brief @p bytes of device memory. */
static inline void *decoder_allocate(size_t bytes, const char *what)
{
    void *memory = NULL;
    decoder_need(cudaMalloc(&memory, bytes), what);
    return memory;
}

/** @brief Floats as halves; ends the program if one is too large. */
static inline void decoder_round(__half *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = __float2half(from[i]);
        if (isfinite(__half2float(to[i]))) continue;
        fprintf(stderr, "generate: a weight, %g, is not finite in f16\n", (double)from[i]);
        exit(2);
    }
}

/** @brief A tensor of floats to @p to, device, f16; ends the program if an element is too large for that. */
static inline void decoder_upload(const struct model *model, enum model_tensor tensor, int layer, __half *to)
{
    enum { PIECE = 1 << 16 };
    static float floats[PIECE];
    static __half halves[PIECE];
    int64_t rows, columns;
    model_shape(model_config(model), tensor, &rows, &columns);
    const size_t all = (size_t)rows * (size_t)columns;
    for (size_t first = 0; first < all; first += PIECE) {
        const size_t count = all - first < PIECE ? all - first : (size_t)PIECE;
        model_read(model, tensor, layer, first, count, floats);
        decoder_round(halves, floats, count);
        decoder_need(cudaMemcpy(to + first, halves, count * sizeof *halves, cudaMemcpyHostToDevice),
                     "copying weights");
    }
}

enum { PRODUCT_THREADS = 256 };

/** @brief Block (row): h = norm(x) as halves. The sum of squares is taken in an order that depends on hidden alone. */
static __global__ void products_norm_kernel(__half *h, const float *x, const __half *gain, int hidden,
                                            float epsilon)
{
    __shared__ float squares[PRODUCT_THREADS];
    const float *of_row = x + (size_t)blockIdx.x * (size_t)hidden;
    float sum = 0.0f;
    for (int i = (int)threadIdx.x; i < hidden; i += PRODUCT_THREADS) sum = fmaf(of_row[i], of_row[i], sum);
    squares[threadIdx.x] = sum;
    for (int stride = PRODUCT_THREADS / 2; stride > 0; stride /= 2) {
        __syncthreads(); // the sums of all threads, or of both halves, are there
        if ((int)threadIdx.x < stride) squares[threadIdx.x] += squares[threadIdx.x + stride];
    }
    __syncthreads(); // so is the sum of all
    const float factor = rsqrtf(squares[0] / (float)hidden + epsilon);
    for (int i = (int)threadIdx.x; i < hidden; i += PRODUCT_THREADS)
        h[(size_t)blockIdx.x * (size_t)hidden + (size_t)i] =
            __float2half(of_row[i] * factor * __half2float(gain[i]));
}

/** @brief Block (row): out = y, or out += y, [rows, width]. */
template <typename T> static __global__ void products_store_kernel(float *out, const T *y, int width, int add)
{
    for (int i = (int)threadIdx.x; i < width; i += PRODUCT_THREADS) {
        const size_t at = (size_t)blockIdx.x * (size_t)width + (size_t)i;
        out[at] = (add ? out[at] : 0.0f) + (float)y[at];
    }
}

/** @brief Block (row): h = silu(gate) * up, of y [rows, 2 * inner], gate then up. */
template <typename T> static __global__ void products_gate_kernel(__half *h, const T *y, int inner)
{
    const T *gate = y + (size_t)blockIdx.x * 2 * (size_t)inner;
    for (int i = (int)threadIdx.x; i < inner; i += PRODUCT_THREADS) {
        const float g = (float)gate[i], up = (float)gate[inner + i];
        h[(size_t)blockIdx.x * (size_t)inner + (size_t)i] = __float2half(g / (1.0f + __expf(-g)) * up);
    }
}

/** @brief Matrices that are multiplied as one: their outputs lie one behind the other. */
enum products_matrix { PRODUCTS_QKV, PRODUCTS_O, PRODUCTS_GATE_UP, PRODUCTS_DOWN, PRODUCTS_MATRICES };

/** @brief The tensors of such a matrix. */
static const struct {
    enum model_tensor tensors[3]; /**< in their order */
    int count;                    /**< of them */
} products_tensors[PRODUCTS_MATRICES] = {
    {{MODEL_Q, MODEL_K, MODEL_V}, 3}, {{MODEL_O}, 1}, {{MODEL_GATE, MODEL_UP}, 2}, {{MODEL_DOWN}, 1}};

/** @brief Rows (outputs) and columns (inputs) of such a matrix. */
static inline void products_shape(const struct engine_config *c, enum products_matrix matrix, int *n, int *k)
{
    const int q = (int)engine_q_width(c), kv = (int)engine_kv_width(c);
    const int shape[PRODUCTS_MATRICES][2] = {{q + 2 * kv, c->hidden},
                                             {c->hidden, q},
                                             {2 * c->intermediate, c->hidden},
                                             {c->hidden, c->intermediate}};
    *n = shape[matrix][0], *k = shape[matrix][1];
}

/** @brief The longest row of inputs (@p k), or of outputs, of all matrices. */
static inline size_t products_widest(const struct engine_config *c, int inputs)
{
    int widest = 0;
    for (int i = 0; i < PRODUCTS_MATRICES; i++) {
        int n, k;
        products_shape(c, (enum products_matrix)i, &n, &k);
        if ((inputs ? k : n) > widest) widest = inputs ? k : n;
    }
    return (size_t)widest;
}

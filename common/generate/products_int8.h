/**
 * @file products_int8.h
 * @brief Matrices of 8 bits by lesson 13's kernels. Activations are rounded to 8 bits, row by row, each time they are multiplied: the
 *        largest of a row becomes 127.
 */
#pragma once

#include "int8_gemm.h"
#include "products.h"

typedef float products_y; /**< what lesson 13 is asked to store */

/** @brief A matrix. */
struct products_stored {
    int8_t *weights; /**< [n, k] */
    float *scales;   /**< [n] */
};

/** @brief The rounded activations. */
struct products_scratch {
    int8_t *a;     /**< [max_rows, widest input] */
    float *scales; /**< [max_rows] */
};

static inline void products_scratch_open(struct products_scratch *s, const struct engine_config *c,
                                         const struct model *)
{
    s->a = (int8_t *)decoder_allocate((size_t)c->max_rows * products_widest(c, 1), "inputs of 8 bits");
    s->scales = (float *)decoder_allocate((size_t)c->max_rows * sizeof *s->scales, "their scales");
}

static inline void products_scratch_close(struct products_scratch *s)
{
    cudaFree(s->a);
    cudaFree(s->scales);
}

static inline void products_stored_close(struct products_stored *m)
{
    cudaFree(m->weights);
    cudaFree(m->scales);
}

#include "products_layers.h"

/** @brief Block (row): a = round(h / scale), where scale is the largest |h| of the row / 127. A row of zeros stays one. */
static __global__ void products_round_kernel(int8_t *a, float *scales, const __half *h, int k)
{
    __shared__ float largest[PRODUCT_THREADS];
    const __half *of_row = h + (size_t)blockIdx.x * (size_t)k;
    float most = 0.0f;
    for (int i = (int)threadIdx.x; i < k; i += PRODUCT_THREADS)
        most = fmaxf(most, fabsf(__half2float(of_row[i])));
    largest[threadIdx.x] = most;
    for (int stride = PRODUCT_THREADS / 2; stride > 0; stride /= 2) {
        __syncthreads(); // the largest of all threads, or of both halves, are there
        if ((int)threadIdx.x < stride)
            largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + stride]);
    }
    __syncthreads(); // so is the largest of all
    const float scale = largest[0] / 127.0f, factor = scale > 0.0f ? 1.0f / scale : 0.0f;
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
    for (int i = (int)threadIdx.x; i < k; i += PRODUCT_THREADS)
        a[(size_t)blockIdx.x * (size_t)k + (size_t)i] =
            (int8_t)__float2int_rn(__half2float(of_row[i]) * factor);
}

static enum kernel_status products_multiply(const struct products *p, enum products_matrix matrix, int layer,
                                            int rows, const __half *a, cudaStream_t stream)
{
    const struct products_stored *m = &p->layers[layer][matrix];
    struct int8_gemm_args args = {};
    products_shape(&p->engine->config, matrix, &args.n, &args.k);
    products_round_kernel<<<rows, PRODUCT_THREADS, 0, stream>>>(p->scratch.a, p->scratch.scales, a, args.k);
    const enum kernel_status status = launch_status();
    if (status != KERNEL_OK) return status;
    args.m = rows, args.trans_b = 1, args.lda = args.ldb = args.k, args.ldc = args.n;
    args.a = p->scratch.a, args.b = m->weights, args.c = p->y;
    args.row_scales = p->scratch.scales, args.column_scales = m->scales, args.dtype_out = DTYPE_F32;
    return int8_gemm_dequantised(&args, stream);
}

static void products_upload(struct products *p, const struct model *model, enum products_matrix matrix,
                            int layer, struct products_stored *to)
{
    int n, k, row = 0;
    products_shape(&p->engine->config, matrix, &n, &k);
    to->weights = (int8_t *)decoder_allocate((size_t)n * (size_t)k, "weights");
    to->scales = (float *)decoder_allocate((size_t)n * sizeof *to->scales, "scales");
    float *scales = (float *)malloc((size_t)n * sizeof *scales);
    for (int i = 0; i < products_tensors[matrix].count; i++) {
        const enum model_tensor tensor = products_tensors[matrix].tensors[i];
        const struct tensor *values = model_part(model, tensor, layer, MODEL_VALUES),
                            *of_rows = model_part(model, tensor, layer, MODEL_SCALES);
        decoder_need(cudaMemcpy(to->weights + (size_t)row * (size_t)k, values->data, values->bytes,
                                cudaMemcpyHostToDevice),
                     "copying weights");
        tensor_to_floats(of_rows, 0, of_rows->elems, scales + row);
        row += (int)of_rows->elems;
    }
    decoder_need(cudaMemcpy(to->scales, scales, (size_t)n * sizeof *scales, cudaMemcpyHostToDevice),
                 "copying scales");
    free(scales);
}

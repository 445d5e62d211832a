/**
 * @file plain_step.h
 * @brief A step in plain loops: a kernel for every operation, a thread for every result, and no tensor core. REAL is the type of
 *        sums; FORWARD is false where they begin with the last term.
 */
#pragma once

#include <cuda_fp16.h>

#include "engine_parts.h"
#include "kernel_launch.h"

enum { PLAIN_THREADS = 64 };

/** The thread's number in the grid. */
__device__ inline int plain_index(void)
{
    return (int)(blockIdx.x * PLAIN_THREADS + threadIdx.x);
}

__global__ void plain_embed(struct engine_config c, struct engine_batch b, const __half *embedding, float *x)
{
    const int at = plain_index(), row = at / c.hidden;
    if (row >= b.rows) return;
    x[at] = b.positions[row] < 0 ? 0.0f
                                 : __half2float(embedding[(size_t)b.tokens[row] * c.hidden + at % c.hidden]);
}

/** 1 / rms of @p count elements. */
template <typename REAL, bool FORWARD>
__device__ inline REAL plain_factor(const float *x, int count, float epsilon)
{
    REAL sum = 0;
    for (int i = 0; i < count; i++) {
        const REAL value = x[FORWARD ? i : count - 1 - i];
        sum += value * value;
    }
    return (REAL)1 / sqrt(sum / (REAL)count + (REAL)epsilon);
}

/** A row of weights times a row of x, in the way of the product's kind. */
template <typename REAL, bool FORWARD, int KIND>
__device__ inline REAL plain_sum(const struct product &p, size_t output, size_t row)
{
    const __half *w = p.weights + output * p.inputs;
    const float *x = (const float *)p.x + row * p.inputs;
    const REAL factor = KIND == TO_STATE ? (REAL)1 : plain_factor<REAL, FORWARD>(x, p.inputs, p.epsilon);
    REAL sum = 0;
    for (int k = 0; k < p.inputs; k++) {
        const int i = FORWARD ? k : p.inputs - 1 - k;
        const float h = KIND == TO_STATE
                            ? __half2float(((const __half *)p.x)[row * p.inputs + i])
                            : __half2float(__float2half((float)(x[i] * factor) * __half2float(p.gain[i])));
        sum += (REAL)__half2float(w[i]) * (REAL)h;
    }
    return sum;
}

/** A thread per result. */
template <typename REAL, bool FORWARD, int KIND> __global__ void plain_product(struct product p)
{
    const int at = plain_index(), row = at / p.outputs, output = at % p.outputs;
    if (row >= p.rows) return;
    const int from = p.wanted == NULL ? row : p.wanted[row];
    if (from < 0) return;
    const REAL sum = plain_sum<REAL, FORWARD, KIND>(p, output, from);
    if (KIND == TO_QKV || KIND == TO_LOGITS) ((float *)p.out)[at] = (float)sum;
    if (KIND == TO_STATE) ((float *)p.out)[at] = (float)((REAL)((float *)p.out)[at] + sum);
    if (KIND != TO_GATED) return;
    const REAL up = plain_sum<REAL, FORWARD, KIND>(p, p.outputs + output, from);
    ((__half *)p.out)[at] = __float2half((float)(sum / ((REAL)1 + exp(-sum)) * up));
}

/** A thread per head. */
template <typename REAL, bool FORWARD> __global__ void plain_append(struct layer_attention a, int rows)
{
    const struct engine_config &c = a.config;
    const int heads = c.heads + 2 * c.kv_heads, at = plain_index(), row = at / heads, head = at % heads,
              half = c.head_dim / 2;
    if (row >= rows || a.positions[row] < 0) return;
    const float *from = a.qkv + (size_t)at * c.head_dim;
    const int kv_head = head < c.heads ? 0 : (head - c.heads) % c.kv_heads;
    const size_t place = cache_place(a, row, a.positions[row]) + kv_head * c.head_dim;
    __half *to = head < c.heads ? a.q + ((size_t)row * c.heads + head) * c.head_dim
                                : (head < c.heads + c.kv_heads ? a.keys : a.values) + place;
    const __half *gain = head < c.heads ? a.q_norm : a.k_norm;
    const REAL factor = plain_factor<REAL, FORWARD>(from, c.head_dim, c.epsilon);
    for (int d = 0; d < half; d++) {
        if (head >= c.heads + c.kv_heads) {
            to[d] = __float2half(from[d]);
            to[d + half] = __float2half(from[d + half]);
            continue;
        }
        const double angle = (double)a.positions[row] * pow((double)c.rope_base, -(double)d / half);
        const REAL low = from[d] * factor * (REAL)__half2float(gain[d]), cosine = (REAL)cos(angle);
        const REAL high = from[d + half] * factor * (REAL)__half2float(gain[d + half]),
                   sine = (REAL)sin(angle);
        to[d] = __float2half((float)(low * cosine - high * sine));
        to[d + half] = __float2half((float)(high * cosine + low * sine));
    }
}

/** The score of a key, for the query head at @p q. */
template <typename REAL> __device__ inline REAL plain_score(const __half *q, const __half *key, int head_dim)
{
    REAL sum = 0;
    for (int d = 0; d < head_dim; d++) sum += (REAL)__half2float(q[d]) * (REAL)__half2float(key[d]);
    return sum / sqrt((REAL)head_dim);
}

/** A thread per head and row; two passes over the keys, and a column at a time of the second. */
template <typename REAL, bool FORWARD> __global__ void plain_attend(struct layer_attention a, int rows)
{
    const struct engine_config &c = a.config;
    const int at = plain_index(), row = at / c.heads, head = at % c.heads, dim = c.head_dim;
    if (row >= rows) return;
    const int keys = a.positions[row] + 1, kv = head / (c.heads / c.kv_heads) * dim;
    const __half *q = a.q + (size_t)at * dim;
    __half *out = a.attended + (size_t)at * dim;
    REAL most = -(REAL)INFINITY, l = 0, sum[128] = {};
    for (int t = 0; t < keys; t++)
        most = fmax(most, plain_score<REAL>(q, a.keys + cache_place(a, row, t) + kv, dim));
    for (int i = 0; i < keys; i++) {
        const size_t place = cache_place(a, row, FORWARD ? i : keys - 1 - i) + kv;
        const REAL weight = exp(plain_score<REAL>(q, a.keys + place, dim) - most);
        l += weight;
        for (int d = 0; d < dim; d++) sum[d] += weight * (REAL)__half2float(a.values[place + d]);
    }
    for (int d = 0; d < dim; d++) out[d] = __float2half(keys > 0 ? (float)(sum[d] / l) : 0.0f);
}

static inline unsigned plain_blocks(size_t threads)
{
    return (unsigned)((threads + PLAIN_THREADS - 1) / PLAIN_THREADS);
}

template <typename REAL, bool FORWARD, int KIND>
static void plain_multiply(const struct product &p, cudaStream_t stream)
{
    plain_product<REAL, FORWARD, KIND>
        <<<plain_blocks((size_t)p.rows * p.outputs), PLAIN_THREADS, 0, stream>>>(p);
}

template <typename REAL, bool FORWARD>
static enum kernel_status plain_layer(const struct engine_model *model, const struct engine_batch *batch,
                                      const struct engine_buffers *b, int index, cudaStream_t stream)
{
    const struct engine_config *c = &model->config;
    const struct engine_layer at = engine_layer_at(c, index);
    const __half *w = (const __half *)model->weights;
    const int q = (int)engine_q_width(c), heads = c->heads + 2 * c->kv_heads, rows = batch->rows;
    const size_t slice = engine_slice_elems(c);
    __half *keys = (__half *)model->cache + 2 * (size_t)index * slice;
    const struct layer_attention a = {
        *c,   rows, batch->positions, batch->requests, batch->tables, b->qkv,    w + at.q_norm, w + at.k_norm,
        b->q, keys, keys + slice,     b->attended,     b->parts,      b->arrived};
    const struct engine_products *other = model->products;
    const bool attention_elsewhere = c->elsewhere & ENGINE_ATTENTION_ELSEWHERE;
    enum kernel_status status = KERNEL_OK;
    if (attention_elsewhere)
        status = other->qkv(other, index, rows, b->x, b->qkv, stream);
    else
        plain_multiply<REAL, FORWARD, TO_QKV>({w + at.qkv, w + at.input_norm, b->x, b->qkv, NULL, c->hidden,
                                               heads * c->head_dim, rows, c->epsilon, NULL},
                                              stream);
    if (status != KERNEL_OK) return status;
    plain_append<REAL, FORWARD><<<plain_blocks((size_t)rows * heads), PLAIN_THREADS, 0, stream>>>(a, rows);
    plain_attend<REAL, FORWARD><<<plain_blocks((size_t)rows * c->heads), PLAIN_THREADS, 0, stream>>>(a, rows);
    if (attention_elsewhere)
        status = other->o(other, index, rows, b->attended, b->x, stream);
    else
        plain_multiply<REAL, FORWARD, TO_STATE>(
            {w + at.o, NULL, b->attended, b->x, NULL, q, c->hidden, rows, 0.0f, NULL}, stream);
    if (status != KERNEL_OK) return status;
    if (c->elsewhere & ENGINE_MLP_ELSEWHERE) return other->mlp(other, index, rows, b->x, stream);
    plain_multiply<REAL, FORWARD, TO_GATED>({w + at.gate_up, w + at.mlp_norm, b->x, b->gated, NULL, c->hidden,
                                             c->intermediate, rows, c->epsilon, NULL},
                                            stream);
    plain_multiply<REAL, FORWARD, TO_STATE>(
        {w + at.down, NULL, b->gated, b->x, NULL, c->intermediate, c->hidden, rows, 0.0f, NULL}, stream);
    return KERNEL_OK;
}

template <typename REAL, bool FORWARD>
static enum kernel_status plain_step(const struct engine_model *model, const struct engine_batch *batch,
                                     cudaStream_t stream)
{
    const size_t needed = model == NULL ? 0 : engine_workspace_bytes(&model->config);
    enum kernel_status status = engine_check(model, batch, needed);
    if (status != KERNEL_OK) return status;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    const struct engine_config *c = &model->config;
    const struct engine_buffers b = place_buffers(c, model->workspace);
    const __half *w = (const __half *)model->weights;
    plain_embed<<<plain_blocks((size_t)batch->rows * c->hidden), PLAIN_THREADS, 0, stream>>>(*c, *batch, w,
                                                                                             b.x);
    for (int i = 0; i < c->layers && status == KERNEL_OK; i++)
        status = plain_layer<REAL, FORWARD>(model, batch, &b, i, stream);
    if (status != KERNEL_OK) return status;
    if (batch->wanted > 0)
        plain_multiply<REAL, FORWARD, TO_LOGITS>({w + engine_head_at(c), w + engine_last_norm_at(c), b.x,
                                                  batch->logits, batch->wanted_rows, c->hidden, c->vocab,
                                                  batch->wanted, c->epsilon, NULL},
                                                 stream);
    return launch_status();
}

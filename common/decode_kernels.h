/**
 * @file decode_kernels.h
 * @brief The small kernels of a decode step, given. For kernel files only.
 *
 * Each launcher puts its kernels into @p stream for rows 0 .. rows - 1 of the buffers. None of them waits,
 * and none reads what differs from step to step anywhere but in device memory, when it runs. A row is
 * computed the same way whatever other rows there are: its bits do not depend on the size of the batch.
 */
#ifndef WARPWISE_DECODE_KERNELS_H
#define WARPWISE_DECODE_KERNELS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "decode_model.h"

enum {
    DECODE_WARP = 32,
    DECODE_SLICES = 32,      /* threads at most that share the sum of one output of a projection */
    DECODE_SLICE_TERMS = 16, /* products at least that a thread sums, as long as there are enough */
    DECODE_THREADS = 128,    /* of the kernels that go over a row */
    DECODE_LANE_DIMS = 4     /* head_dim / 32 at most */
};
#define DECODE_EPSILON 1e-5f      /**< added to the mean square of a state */
#define DECODE_ROPE_BASE 10000.0f /**< of the angles that queries and keys are turned by */

/** @brief What a launch just made of itself. */
static inline enum kernel_status decode_launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/** @brief One block copies the embedding of one row's token into the row's state. */
static __global__ void decode_embed_kernel(const int *tokens,      // [rows]
                                           const float *embedding, // [vocab, hidden]
                                           float *x,               // [rows, hidden]
                                           int hidden)
{
    size_t row = blockIdx.x;
    const float *from = embedding + (size_t)tokens[row] * (size_t)hidden; // [hidden]
    for (int i = (int)threadIdx.x; i < hidden; i += DECODE_THREADS) x[row * (size_t)hidden + i] = from[i];
}

/** y = gain * x / sqrt(mean of x^2). */
static __global__ void decode_norm_kernel(const float *x,    // [rows, hidden]
                                          const float *gain, // [hidden]
                                          float *y,          // [rows, hidden]
                                          int hidden)
{
    __shared__ float part[DECODE_THREADS];
    const float *row = x + (size_t)blockIdx.x * (size_t)hidden; // [hidden]
    float sum = 0.0f;
    for (int i = (int)threadIdx.x; i < hidden; i += DECODE_THREADS) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    for (int half = DECODE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads(); // what this round adds has been written
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + (unsigned)half];
    }
    __syncthreads(); // the sum is complete before anybody reads it
    float factor = rsqrtf(part[0] / (float)hidden + DECODE_EPSILON);
    for (int i = (int)threadIdx.x; i < hidden; i += DECODE_THREADS)
        y[(size_t)blockIdx.x * (size_t)hidden + i] = gain[i] * row[i] * factor;
}

/** gated = silu(gate) * up. */
static __global__ void decode_gate_kernel(const float *gate_up, // [rows, 2, inner]
                                          float *gated,         // [rows, inner]
                                          int inner)
{
    size_t row = blockIdx.x;
    const float *gate = gate_up + row * 2 * (size_t)inner, *up = gate + inner; // [inner] each
    for (int i = (int)threadIdx.x; i < inner; i += DECODE_THREADS)
        gated[row * (size_t)inner + i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

/* ---- projections --------------------------------------------------------------------------------------- */

/** out = x W, or out += x W. Thread s of the S that share an output sums products s, s + S, s + 2 S ... of
 * it. */
static __global__ void decode_project_kernel(const float *x,       // [rows, inputs]
                                             const float *weights, // [inputs, outputs]
                                             float *out,           // [rows, outputs]
                                             int inputs, int outputs, int add)
{
    __shared__ float part[DECODE_SLICES][DECODE_WARP];
    const float *row = x + (size_t)blockIdx.y * (size_t)inputs; // [inputs]
    int output = (int)(blockIdx.x * DECODE_WARP + threadIdx.x), slice = (int)threadIdx.y;
    float sum = 0.0f;
    if (output < outputs) {
#pragma unroll 8
        for (int i = slice; i < inputs; i += (int)blockDim.y)
            sum += row[i] * weights[(size_t)i * (size_t)outputs + (size_t)output];
    }
    part[slice][threadIdx.x] = sum;
    __syncthreads(); // all parts are there before they are added
    if (slice != 0 || output >= outputs) return;
    for (int s = 1; s < (int)blockDim.y; s++) sum += part[s][threadIdx.x];
    float *place = out + (size_t)blockIdx.y * (size_t)outputs + output;
    *place = add ? *place + sum : sum;
}

/** @brief out = x · weights for every row, or out += x · weights. One launch. */
static inline void decode_project(const float *x, const float *weights, float *out, int inputs, int outputs,
                                  int add, int rows, cudaStream_t stream)
{
    int slices = (inputs + DECODE_SLICE_TERMS - 1) / DECODE_SLICE_TERMS;
    dim3 grid((unsigned)((outputs + DECODE_WARP - 1) / DECODE_WARP), (unsigned)rows);
    dim3 block(DECODE_WARP, (unsigned)(slices < DECODE_SLICES ? slices : DECODE_SLICES));
    decode_project_kernel<<<grid, block, 0, stream>>>(x, weights, out, inputs, outputs, add);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

/** Where the key of @p position of row @p row begins in the keys of one layer: [.., kv_heads, head_dim]. */
static __device__ size_t decode_cache_offset(const struct decode_config &c, const int *block_table,
                                             size_t row, int position)
{
    int page = block_table[row * (size_t)c.max_blocks + (size_t)(position / c.block_size)];
    return ((size_t)page * (size_t)c.block_size + (size_t)(position % c.block_size)) *
           (size_t)(c.kv_heads * c.head_dim);
}

/** Turns q and k by an angle that grows with the position; appends k and v to the cache. One block a row. */
static __global__ void decode_rope_append_kernel(struct decode_config c, const int *positions, // [rows]
                                                 const int *block_table, // [rows, max_blocks]
                                                 float *qkv,             // [rows, qkv_width]
                                                 __half *keys,           // [num_blocks, block_size, ...]
                                                 __half *values)         // the same
{
    size_t row = blockIdx.x;
    int half_dim = c.head_dim / 2, position = positions[row], kv_width = c.kv_heads * c.head_dim;
    int q_width = c.heads * c.head_dim;
    float *q = qkv + row * (size_t)(q_width + 2 * kv_width); // [heads, head_dim], then k, then v
    size_t place = decode_cache_offset(c, block_table, row, position);
    for (int i = (int)threadIdx.x; i < (c.heads + c.kv_heads) * half_dim; i += DECODE_THREADS) {
        int head = i / half_dim, d = i % half_dim;
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim);
        float *low = q + head * c.head_dim + d, *high = low + half_dim;
        float a = *low, b = *high, cosine = cosf(angle), sine = sinf(angle);
        *low = a * cosine - b * sine;
        *high = b * cosine + a * sine;
        if (head < c.heads) continue;
        size_t key = place + (size_t)((head - c.heads) * c.head_dim + d);
        keys[key] = __float2half(*low);
        keys[key + (size_t)half_dim] = __float2half(*high);
    }
    for (int i = (int)threadIdx.x; i < kv_width; i += DECODE_THREADS)
        values[place + (size_t)i] = __float2half(q[q_width + kv_width + i]);
}

/** A warp for every (head, row): 32 keys at a time, one a lane, then the lanes share out the elements of
 * V. */
static __global__ void decode_attention_kernel(struct decode_config c, const int *positions, // [rows]
                                               const int *block_table, // [rows, max_blocks]
                                               const float *qkv,       // [rows, qkv_width]
                                               const __half *keys,     // [num_blocks, block_size, ...]
                                               const __half *values,   // the same
                                               float *out)             // [rows, heads, head_dim]
{
    __shared__ float weight[DECODE_WARP];
    __shared__ size_t place[DECODE_WARP];
    size_t row = blockIdx.y;
    int head = (int)blockIdx.x, lane = (int)threadIdx.x, length = positions[row] + 1;
    int kv_head = head / (c.heads / c.kv_heads), dims = c.head_dim / DECODE_WARP;
    const float *q = qkv + row * (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim) + head * c.head_dim;
    float m = -INFINITY, l = 0.0f, sum[DECODE_LANE_DIMS] = {0.0f};
    for (int first = 0; first < length; first += DECODE_WARP) {
        float score = -INFINITY;
        if (first + lane < length) {
            place[lane] =
                decode_cache_offset(c, block_table, row, first + lane) + (size_t)(kv_head * c.head_dim);
            const __half2 *key = (const __half2 *)(keys + place[lane]); // [head_dim / 2]
            float dot = 0.0f;
#pragma unroll 8
            for (int d = 0; d < c.head_dim / 2; d++) {
                float2 pair = __half22float2(key[d]);
                dot += q[2 * d] * pair.x + q[2 * d + 1] * pair.y;
            }
            score = dot * rsqrtf((float)c.head_dim);
        }
        float largest = score;
        for (int distance = 16; distance > 0; distance /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
        float new_m = fmaxf(m, largest), correction = expf(m - new_m);
        weight[lane] = expf(score - new_m);
        __syncwarp(); // weights and places of all lanes are there
        l *= correction;
        for (int i = 0; i < dims; i++) sum[i] *= correction;
        for (int t = 0; t < DECODE_WARP && first + t < length; t++) {
            l += weight[t];
            for (int i = 0; i < dims; i++)
                sum[i] += weight[t] * __half2float(values[place[t] + (size_t)(lane + i * DECODE_WARP)]);
        }
        m = new_m;
        __syncwarp(); // nobody reads them any more: the next 32 keys may overwrite them
    }
    for (int i = 0; i < dims; i++)
        out[(row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim + (size_t)(lane + i * DECODE_WARP)] =
            sum[i] / l;
}

/* ---- the parts of a step ------------------------------------------------------------------------------- */

/** @brief x = the embeddings of the tokens. One launch. */
static inline enum kernel_status decode_embed(const struct decode_model *model,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    decode_embed_kernel<<<(unsigned)rows, DECODE_THREADS, 0, stream>>>(b->tokens, model->embedding, b->x,
                                                                       model->config.hidden);
    return decode_launch_status();
}

/**
 * @brief One layer: appends to the cache, changes x. Nine launches.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if a weight of the layer is missing
 */
static inline enum kernel_status decode_layer(const struct decode_model *model, int index,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_layer *w = &model->layer[index];
    if (!w->attention_norm || !w->qkv || !w->out || !w->mlp_norm || !w->gate_up || !w->down)
        return KERNEL_INVALID_CONFIG;
    size_t kv_elems = decode_cache_elems(c) / (2 * (size_t)c->layers);
    __half *keys = (__half *)b->cache + (size_t)index * 2 * kv_elems, *values = keys + kv_elems;
    int q_width = c->heads * c->head_dim;
    unsigned blocks = (unsigned)rows;
    decode_norm_kernel<<<blocks, DECODE_THREADS, 0, stream>>>(b->x, w->attention_norm, b->normed, c->hidden);
    decode_project(b->normed, w->qkv, b->qkv, c->hidden, (int)decode_qkv_width(c), 0, rows, stream);
    decode_rope_append_kernel<<<blocks, DECODE_THREADS, 0, stream>>>(*c, b->positions, b->block_table, b->qkv,
                                                                     keys, values);
    decode_attention_kernel<<<dim3((unsigned)c->heads, blocks), DECODE_WARP, 0, stream>>>(
        *c, b->positions, b->block_table, b->qkv, keys, values, b->attended);
    decode_project(b->attended, w->out, b->x, q_width, c->hidden, 1, rows, stream);
    decode_norm_kernel<<<blocks, DECODE_THREADS, 0, stream>>>(b->x, w->mlp_norm, b->normed, c->hidden);
    decode_project(b->normed, w->gate_up, b->gate_up, c->hidden, 2 * c->intermediate, 0, rows, stream);
    decode_gate_kernel<<<blocks, DECODE_THREADS, 0, stream>>>(b->gate_up, b->gated, c->intermediate);
    decode_project(b->gated, w->down, b->x, c->intermediate, c->hidden, 1, rows, stream);
    return decode_launch_status();
}

/** @brief The logits of x. Two launches. */
static inline enum kernel_status decode_logits(const struct decode_model *model,
                                               const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    decode_norm_kernel<<<(unsigned)rows, DECODE_THREADS, 0, stream>>>(b->x, model->final_norm, b->normed,
                                                                      c->hidden);
    decode_project(b->normed, model->to_logits, b->logits, c->hidden, c->vocab, 0, rows, stream);
    return decode_launch_status();
}

/** @brief What decode_graphs_step() does, with a launch for every kernel; see cuda_graph.h. */
static inline enum kernel_status decode_step_launch_by_launch(const struct decode_model *model,
                                                              const struct decode_buffers *b,
                                                              const struct decode_batch *batch,
                                                              cudaStream_t stream)
{
    size_t rows = (size_t)batch->rows, table = rows * (size_t)model->config.max_blocks;
    size_t logits = rows * (size_t)model->config.vocab;
    const enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
    cudaMemcpyAsync(b->tokens, batch->tokens, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->positions, batch->positions, rows * sizeof(int), kind, stream);
    cudaMemcpyAsync(b->block_table, batch->block_table, table * sizeof(int), kind, stream);
    enum kernel_status status = decode_embed(model, b, batch->rows, stream);
    for (int i = 0; i < model->config.layers && status == KERNEL_OK; i++)
        status = decode_layer(model, i, b, batch->rows, stream);
    if (status == KERNEL_OK) status = decode_logits(model, b, batch->rows, stream);
    cudaMemcpyAsync(batch->logits, b->logits, logits * sizeof(float), kind, stream);
    return status == KERNEL_OK ? decode_launch_status() : status;
}

#endif

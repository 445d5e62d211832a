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
    DECODE_THREADS = 128,                      /* of a block; four warps, four outputs of a projection */
    DECODE_VECTOR = 8,                         /* halves in the 16 bytes that a lane loads at once */
    DECODE_LOADS = 4,                          /* such loads that a lane has under way */
    DECODE_SPAN = DECODE_WARP * DECODE_VECTOR, /* inputs that a warp takes with one load a lane */
    DECODE_ROWS = 4,                           /* rows that share a visit of the weights */
    DECODE_LANE_DIMS = 4                       /* head_dim / 32 at most */
};
#define DECODE_EPSILON 1e-5f      /**< added to the mean square of a state */
#define DECODE_ROPE_BASE 10000.0f /**< of the angles that queries and keys are turned by */

/** @brief What a launch just made of itself. */
static inline enum kernel_status decode_launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/** @brief x = the embedding of the row's token. */
static __global__ void decode_embed_kernel(const int *tokens,       // [rows]
                                           const __half *embedding, // [vocab, hidden]
                                           float *x,                // [rows, hidden]
                                           int hidden)
{
    size_t row = blockIdx.y;
    int i = (int)(blockIdx.x * DECODE_THREADS + threadIdx.x);
    if (i >= hidden) return;
    x[row * (size_t)hidden + i] = __half2float(embedding[(size_t)tokens[row] * (size_t)hidden + i]);
}

/* ---- projections --------------------------------------------------------------------------------------- */

/**
 * @brief What a warp works out of a row: sum of weight * gain * x, and, where a norm comes first, sum of x^2. The norm
 * divides all of x by the same number, so the sum can be divided by it as well, afterwards: a norm costs no kernel.
 */
struct decode_sums {
    float dot[DECODE_ROWS];     /**< sum of weight * gain * x, of each row */
    float squares[DECODE_ROWS]; /**< sum of x^2 */
};

/** @brief Eight halves as floats. */
static __device__ inline void decode_to_floats(float *to, uint4 halves)
{
    const __half2 *pair = (const __half2 *)&halves;
    for (int i = 0; i < DECODE_VECTOR / 2; i++) {
        float2 two = __half22float2(pair[i]);
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

/** @brief Adds eight inputs of every row, each times its weight. */
static __device__ inline void decode_add_eight(struct decode_sums *sums, uint4 halves, const __half *gain,
                                               const float *x, size_t inputs, int rows)
{
    float w[DECODE_VECTOR], g[DECODE_VECTOR];
    decode_to_floats(w, halves);
    if (gain != NULL) {
        decode_to_floats(g, *(const uint4 *)gain);
        for (int i = 0; i < DECODE_VECTOR; i++) w[i] *= g[i];
    }
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (r >= rows)
            continue; // the same for all lanes, and the same work for a row whatever rows there are
        const float4 *from = (const float4 *)(x + (size_t)r * inputs);
        float4 low = from[0], high = from[1];
        sums->dot[r] += w[0] * low.x + w[1] * low.y + w[2] * low.z + w[3] * low.w;
        sums->dot[r] += w[4] * high.x + w[5] * high.y + w[6] * high.z + w[7] * high.w;
        sums->squares[r] += low.x * low.x + low.y * low.y + low.z * low.z + low.w * low.w;
        sums->squares[r] += high.x * high.x + high.y * high.y + high.z * high.z + high.w * high.w;
    }
}

/** @brief This lane's part of the sums for one output. Weights are asked for DECODE_LOADS times before any is used. */
static __device__ inline void decode_lane_sums(struct decode_sums *sums, const __half *weights, // [inputs]
                                               const __half *gain, // [inputs], or NULL
                                               const float *x,     // [rows, inputs]
                                               int inputs, int rows)
{
    int lane = (int)threadIdx.x % DECODE_WARP;
    size_t row_elems = (size_t)inputs;
    bool wide = inputs % DECODE_VECTOR == 0 && ((size_t)weights | (size_t)gain) % sizeof(uint4) == 0;
    for (int first = lane * DECODE_VECTOR; wide && first < inputs; first += DECODE_LOADS * DECODE_SPAN) {
        uint4 halves[DECODE_LOADS];
#pragma unroll
        for (int i = 0; i < DECODE_LOADS; i++)
            if (first + i * DECODE_SPAN < inputs)
                halves[i] = *(const uint4 *)(weights + first + i * DECODE_SPAN);
#pragma unroll
        for (int i = 0; i < DECODE_LOADS; i++) {
            int at = first + i * DECODE_SPAN;
            if (at < inputs)
                decode_add_eight(sums, halves[i], gain == NULL ? NULL : gain + at, x + at, row_elems, rows);
        }
    }
    for (int i = lane; !wide && i < inputs; i += DECODE_WARP) { // sizes and places that 16 bytes do not fit
        float w = __half2float(weights[i]) * (gain == NULL ? 1.0f : __half2float(gain[i]));
        for (int r = 0; r < DECODE_ROWS && r < rows; r++) {
            float value = x[(size_t)r * row_elems + i];
            sums->dot[r] += w * value;
            sums->squares[r] += value * value;
        }
    }
}

/** @brief The projection of row @p r, in every lane: normalized if there is a gain. All lanes must call it. */
static __device__ inline float decode_finish(const struct decode_sums *sums, int r, const __half *gain,
                                             int inputs)
{
    float dot = sums->dot[r], squares = sums->squares[r];
    for (int distance = DECODE_WARP / 2; distance > 0; distance /= 2) {
        dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        squares += __shfl_xor_sync(0xffffffffu, squares, distance);
    }
    return gain == NULL ? dot : dot * rsqrtf(squares / (float)inputs + DECODE_EPSILON);
}

/** @brief A product with a weight matrix, of all rows. */
struct decode_projection {
    const __half *weights; /**< [outputs, inputs] */
    const __half *gain;    /**< [inputs] of the norm in front of it; NULL: none */
    const float *x;        /**< [rows, inputs] */
    float *out;            /**< [rows, outputs] */
    int inputs;            /**< elements of a row of x */
    int outputs; /**< elements of a row of out; of the gate's weights there are twice as many rows */
    int rows;    /**< rows of the batch */
    int add;     /**< 1: out += ... */
};

/** @brief out = norm(x) W^T, or out += x W^T. A warp for each output, of DECODE_ROWS rows. */
static __global__ void decode_project_kernel(struct decode_projection p)
{
    int output = (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * DECODE_ROWS, rows = min(p.rows - first_row, (int)DECODE_ROWS);
    if (output >= p.outputs) return; // whole warps
    struct decode_sums sums = {};
    decode_lane_sums(&sums, p.weights + (size_t)output * (size_t)p.inputs, p.gain,
                     p.x + (size_t)first_row * (size_t)p.inputs, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (r >= rows) continue;
        float sum = decode_finish(&sums, r, p.gain, p.inputs);
        float *place = p.out + (size_t)(first_row + r) * (size_t)p.outputs + output;
        if (threadIdx.x % DECODE_WARP == 0) *place = p.add ? *place + sum : sum;
    }
}

/** @brief out = silu(gate) * up, where gate and up are the two halves of norm(x) W^T. A warp for each pair of outputs. */
static __global__ void decode_gate_kernel(struct decode_projection p)
{
    int output = (int)(blockIdx.x * (DECODE_THREADS / DECODE_WARP) + threadIdx.x / DECODE_WARP);
    int first_row = (int)blockIdx.y * DECODE_ROWS, rows = min(p.rows - first_row, (int)DECODE_ROWS);
    if (output >= p.outputs) return; // whole warps
    struct decode_sums of_gate = {}, of_up = {};
    const float *x = p.x + (size_t)first_row * (size_t)p.inputs;
    const __half *gate_row = p.weights + (size_t)output * (size_t)p.inputs;
    decode_lane_sums(&of_gate, gate_row, p.gain, x, p.inputs, rows);
    decode_lane_sums(&of_up, gate_row + (size_t)p.outputs * (size_t)p.inputs, p.gain, x, p.inputs, rows);
#pragma unroll
    for (int r = 0; r < DECODE_ROWS; r++) {
        if (r >= rows) continue;
        float gate = decode_finish(&of_gate, r, p.gain, p.inputs),
              up = decode_finish(&of_up, r, p.gain, p.inputs);
        if (threadIdx.x % DECODE_WARP == 0)
            p.out[(size_t)(first_row + r) * (size_t)p.outputs + output] = gate / (1.0f + expf(-gate)) * up;
    }
}

/** @brief Blocks of both kernels. */
static inline dim3 decode_projection_grid(const struct decode_projection *p)
{
    unsigned warps = DECODE_THREADS / DECODE_WARP;
    return dim3(((unsigned)p->outputs + warps - 1) / warps,
                ((unsigned)p->rows + DECODE_ROWS - 1) / DECODE_ROWS);
}

/** @brief out = norm(x) W^T, or out += x W^T, for every row. One launch. */
static inline void decode_project(const struct decode_projection *p, cudaStream_t stream)
{
    decode_project_kernel<<<decode_projection_grid(p), DECODE_THREADS, 0, stream>>>(*p);
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

/**
 * @brief Turns q and k by an angle that grows with the position; appends k and v to the cache. A warp for every row and
 * head of q and k.
 */
static __global__ void decode_rope_append_kernel(struct decode_config c, const int *positions, // [rows]
                                                 const int *block_table, // [rows, max_blocks]
                                                 float *qkv,             // [rows, qkv_width]
                                                 __half *keys,           // [num_blocks, block_size, ...]
                                                 __half *values)         // the same
{
    size_t row = blockIdx.y, width = (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim);
    int head = (int)blockIdx.x, half_dim = c.head_dim / 2, position = positions[row];
    float *at = qkv + row * width + (size_t)(head * c.head_dim); // [head_dim], of q or, behind all of q, of k
    const float *value = at + c.kv_heads * c.head_dim;           // [head_dim], if this is a head of k
    size_t place = 0;
    if (head >= c.heads)
        place = decode_cache_offset(c, block_table, row, position) + (size_t)((head - c.heads) * c.head_dim);
    for (int d = (int)threadIdx.x; d < half_dim; d += DECODE_WARP) {
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim);
        float low = at[d], high = at[d + half_dim], cosine = cosf(angle), sine = sinf(angle);
        float turned_low = low * cosine - high * sine, turned_high = high * cosine + low * sine;
        at[d] = turned_low;
        at[d + half_dim] = turned_high;
        if (head < c.heads) continue;
        keys[place + (size_t)d] = __float2half(turned_low);
        keys[place + (size_t)(d + half_dim)] = __float2half(turned_high);
        values[place + (size_t)d] = __float2half(value[d]);
        values[place + (size_t)(d + half_dim)] = __float2half(value[d + half_dim]);
    }
}

/** @brief The score of one key, 16 bytes at a time: rows of the cache are multiples of 64 bytes. */
static __device__ inline float decode_score(const float *q, const __half *key, int head_dim)
{
    float dot = 0.0f, k[DECODE_VECTOR];
#pragma unroll 4
    for (int d = 0; d < head_dim; d += DECODE_VECTOR) {
        decode_to_floats(k, *(const uint4 *)(key + d));
        for (int i = 0; i < DECODE_VECTOR; i++) dot += q[d + i] * k[i];
    }
    return dot * rsqrtf((float)head_dim);
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
            score = decode_score(q, keys + place[lane], c.head_dim);
        }
        float largest = score;
        for (int distance = 16; distance > 0; distance /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
        float new_m = fmaxf(m, largest), correction = expf(m - new_m);
        weight[lane] = expf(score - new_m);
        __syncwarp(); // weights and places of all lanes are there
        l *= correction;
        for (int i = 0; i < dims; i++) sum[i] *= correction;
#pragma unroll 8
        for (int t = 0; t < DECODE_WARP; t++) { // no early end: eight loads of V are under way together
            l += weight[t];
            for (int i = 0; i < DECODE_LANE_DIMS; i++)
                if (first + t < length && i < dims)
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
    dim3 grid(((unsigned)model->config.hidden + DECODE_THREADS - 1) / DECODE_THREADS, (unsigned)rows);
    decode_embed_kernel<<<grid, DECODE_THREADS, 0, stream>>>(b->tokens, (const __half *)model->embedding,
                                                             b->x, model->config.hidden);
    return decode_launch_status();
}

/** @brief The attention of a layer: the new key and value, then all of them. Two launches. */
static inline void decode_attend(const struct decode_config *c, int index, const struct decode_buffers *b,
                                 int rows, cudaStream_t stream)
{
    size_t kv_elems = decode_cache_elems(c) / (2 * (size_t)c->layers);
    __half *keys = (__half *)b->cache + (size_t)index * 2 * kv_elems, *values = keys + kv_elems;
    dim3 turned((unsigned)(c->heads + c->kv_heads), (unsigned)rows),
        heads((unsigned)c->heads, (unsigned)rows);
    decode_rope_append_kernel<<<turned, DECODE_WARP, 0, stream>>>(*c, b->positions, b->block_table, b->qkv,
                                                                  keys, values);
    decode_attention_kernel<<<heads, DECODE_WARP, 0, stream>>>(*c, b->positions, b->block_table, b->qkv, keys,
                                                               values, b->attended);
}

/**
 * @brief One layer: appends to the cache, changes x. Six launches.
 * @return ::KERNEL_INVALID_CONFIG, with nothing launched, if a weight of the layer is missing
 */
static inline enum kernel_status decode_layer(const struct decode_model *model, int index,
                                              const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_layer *w = &model->layer[index];
    if (!w->attention_norm || !w->qkv || !w->out || !w->mlp_norm || !w->gate_up || !w->down)
        return KERNEL_INVALID_CONFIG;
    const struct decode_projection qkv = {(const __half *)w->qkv,
                                          (const __half *)w->attention_norm,
                                          b->x,
                                          b->qkv,
                                          c->hidden,
                                          (int)decode_qkv_width(c),
                                          rows,
                                          0};
    const struct decode_projection out = {(const __half *)w->out, NULL,      b->attended, b->x,
                                          c->heads * c->head_dim, c->hidden, rows,        1};
    const struct decode_projection gate = {(const __half *)w->gate_up,
                                           (const __half *)w->mlp_norm,
                                           b->x,
                                           b->gated,
                                           c->hidden,
                                           c->intermediate,
                                           rows,
                                           0};
    const struct decode_projection down = {(const __half *)w->down, NULL,      b->gated, b->x,
                                           c->intermediate,         c->hidden, rows,     1};
    decode_project(&qkv, stream);
    decode_attend(c, index, b, rows, stream);
    decode_project(&out, stream);
    decode_gate_kernel<<<decode_projection_grid(&gate), DECODE_THREADS, 0, stream>>>(gate);
    decode_project(&down, stream);
    return decode_launch_status();
}

/** @brief The logits of x. One launch. */
static inline enum kernel_status decode_logits(const struct decode_model *model,
                                               const struct decode_buffers *b, int rows, cudaStream_t stream)
{
    const struct decode_config *c = &model->config;
    const struct decode_projection logits = {(const __half *)model->to_logits,
                                             (const __half *)model->final_norm,
                                             b->x,
                                             b->logits,
                                             c->hidden,
                                             c->vocab,
                                             rows,
                                             0};
    decode_project(&logits, stream);
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

/*
 * A layer and a ring by plain kernels, a thread per result: what variants of lesson 19 share. SUM is the type of sums.
 */
#pragma once

#include "several_gpus.h"

#include "kernel_launch.h"
#include "rank_parts.h"

enum { PLAIN_THREADS = 64, PLAIN_DIM = 128 };

static inline int plain_blocks(size_t results)
{
    return (int)((results + PLAIN_THREADS - 1) / PLAIN_THREADS);
}

__device__ inline size_t plain_thread(void)
{
    return (size_t)blockIdx.x * PLAIN_THREADS + threadIdx.x;
}

/** How the ranks' partial sums come into x. */
typedef enum kernel_status plain_sum(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                     const struct layer_shards *shards);

template <typename SUM> __device__ inline SUM plain_dot(const float *a, const float *b, int count)
{
    SUM sum = 0;
    for (int i = count - 1; i >= 0; i--) sum += (SUM)a[i] * (SUM)b[i];
    return sum;
}

/** Element (row, output): q, k and v. */
template <typename SUM>
__global__ void plain_qkv(struct layer_sizes s, int heads, struct layer_shard shard, float *q)
{
    const int own = heads * s.head_dim;
    const size_t i = plain_thread();
    if (i >= (size_t)s.rows * 3 * own) return;
    const int row = (int)(i / (3 * own)), output = (int)(i % (3 * own)), at = output % own;
    const float sum =
        (float)plain_dot<SUM>(shard.qkv + (size_t)output * s.width, shard.x + (size_t)row * s.width, s.width);
    const size_t line = ((size_t)(output / own - 1) * s.rows + row) * heads + at / s.head_dim;
    if (output < own)
        q[(size_t)row * own + at] = sum;
    else
        shard.cache[(line * s.room + s.position) * s.head_dim + at % s.head_dim] = sum;
}

/** Softmax of @p count keys in two passes, and the sum of their values in @p out, [dim]. Returns logsumexp. */
template <typename SUM>
__device__ inline SUM plain_attention(const float *q, const float *keys, const float *values, int count,
                                      int dim, SUM scale, SUM *out)
{
    SUM most = -INFINITY, weights = 0;
    for (int d = 0; d < dim; d++) out[d] = 0;
    for (int j = 0; j < count; j++) {
        const SUM score = plain_dot<SUM>(q, keys + (size_t)j * dim, dim) * scale;
        most = score > most ? score : most;
    }
    for (int j = 0; j < count; j++) {
        const SUM weight = exp(plain_dot<SUM>(q, keys + (size_t)j * dim, dim) * scale - most);
        weights += weight;
        for (int d = 0; d < dim; d++) out[d] += weight * (SUM)values[(size_t)j * dim + d];
    }
    for (int d = 0; d < dim; d++) out[d] /= weights;
    return most + log(weights);
}

/** Line (row, head) of attention. */
template <typename SUM>
__global__ void plain_decode(struct layer_sizes s, int heads, const float *q, const float *cache,
                             float *attended)
{
    const size_t line = plain_thread(), lines = (size_t)s.rows * heads;
    if (line >= lines) return;
    const float *keys = cache + line * s.room * s.head_dim, *values = keys + lines * s.room * s.head_dim;
    SUM out[PLAIN_DIM];
    (void)plain_attention<SUM>(q + line * s.head_dim, keys, values, s.position + 1, s.head_dim,
                               1 / sqrt((SUM)s.head_dim), out);
    for (int d = 0; d < s.head_dim; d++) attended[line * s.head_dim + d] = (float)out[d];
}

/** Element (row, output) of x W. */
template <typename SUM>
__global__ void plain_product(float *out, const float *x, const float *weights, int rows, int inputs,
                              int outputs)
{
    const size_t i = plain_thread();
    if (i >= (size_t)rows * outputs) return;
    const size_t row = i / outputs, output = i % outputs;
    out[i] = (float)plain_dot<SUM>(weights + output * inputs, x + row * inputs, inputs);
}

/** Element (row, unit) of silu(gate) * up. */
template <typename SUM>
__global__ void plain_gated(float *out, const float *x, const float *weights, int rows, int inputs, int units)
{
    const size_t i = plain_thread();
    if (i >= (size_t)rows * units) return;
    const float *gate = weights + i % units * inputs, *in = x + i / units * inputs;
    const SUM g = plain_dot<SUM>(gate, in, inputs),
              u = plain_dot<SUM>(gate + (size_t)units * inputs, in, inputs);
    out[i] = (float)(g / (1 + exp(-g)) * u);
}

__global__ void plain_add(float *x, const float *y, int count)
{
    const size_t i = plain_thread();
    if (i < (size_t)count) x[i] += y[i];
}

/** Both halves of a layer on one rank, up to the sums. */
template <typename SUM>
static enum kernel_status plain_half(const struct gpu_rank *rank, int ranks, const struct layer_sizes *sizes,
                                     const struct layer_shard *shard, int mlp)
{
    const struct layer_buffers b = place_buffers(sizes, ranks, shard->workspace);
    const int heads = sizes->heads / ranks, own = own_width(sizes, ranks), units = sizes->inner / ranks;
    const size_t rows = (size_t)sizes->rows;
    cudaStream_t stream = rank->stream;
    if (cudaSetDevice(rank->device) != cudaSuccess) return KERNEL_CUDA_ERROR;
    if (mlp) {
        plain_gated<SUM><<<plain_blocks(rows * units), PLAIN_THREADS, 0, stream>>>(
            b.gated, shard->x, shard->gate_up, sizes->rows, sizes->width, units);
    } else {
        plain_qkv<SUM>
            <<<plain_blocks(rows * 3 * own), PLAIN_THREADS, 0, stream>>>(*sizes, heads, *shard, b.q);
        if (launch_status() != KERNEL_OK) return KERNEL_CUDA_ERROR;
        plain_decode<SUM><<<plain_blocks(rows * heads), PLAIN_THREADS, 0, stream>>>(*sizes, heads, b.q,
                                                                                    shard->cache, b.attended);
    }
    if (launch_status() != KERNEL_OK) return KERNEL_CUDA_ERROR;
    plain_product<SUM><<<plain_blocks(rows * sizes->width), PLAIN_THREADS, 0, stream>>>(
        b.partial, mlp ? b.gated : b.attended, mlp ? shard->down : shard->o, sizes->rows, mlp ? units : own,
        sizes->width);
    return launch_status();
}

template <typename SUM>
static enum kernel_status plain_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                     const struct layer_shards *shards, plain_sum *sum)
{
    const size_t needed = ranks == NULL ? 0 : tensor_parallel_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = tensor_parallel_check(ranks, sizes, shards, needed);
    for (int mlp = 0; mlp < 2 && status == KERNEL_OK; mlp++) {
        for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
            status = plain_half<SUM>(&ranks->at[i], ranks->ranks, sizes, &shards->at[i], mlp);
        if (status == KERNEL_OK) status = sum(ranks, sizes, shards);
    }
    return status;
}

/** The calls of NCCL so far, and the end of their group. */
static inline enum kernel_status plain_end(ncclResult_t result)
{
    const ncclResult_t ended = ncclGroupEnd();
    return result == ncclSuccess && ended == ncclSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** x += partial on every rank. */
static inline enum kernel_status plain_add_all(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                               const struct layer_shards *shards)
{
    const int count = sizes->rows * sizes->width;
    for (int i = 0; i < ranks->count; i++) {
        const struct layer_buffers b = place_buffers(sizes, ranks->ranks, shards->at[i].workspace);
        if (cudaSetDevice(ranks->at[i].device) != cudaSuccess) return KERNEL_CUDA_ERROR;
        plain_add<<<plain_blocks((size_t)count), PLAIN_THREADS, 0, ranks->at[i].stream>>>(shards->at[i].x,
                                                                                          b.partial, count);
        if (launch_status() != KERNEL_OK) return KERNEL_CUDA_ERROR;
    }
    return KERNEL_OK;
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

/** Line (head, query), by one thread. */
template <typename SUM>
__global__ void plain_ring(struct ring_sizes s, struct ring_part p, const float *k, const float *v, SUM scale,
                           int first)
{
    const size_t line = plain_thread(), keys = line / s.part * s.part * s.head_dim;
    if (line >= (size_t)s.heads * s.part) return;
    const int visible = first && s.causal ? (int)(line % s.part) + 1 : s.part;
    const SUM before = first ? -INFINITY : (SUM)p.lse[line];
    SUM out[PLAIN_DIM];
    const SUM lse =
        plain_attention<SUM>(p.q + line * s.head_dim, k + keys, v + keys, visible, s.head_dim, scale, out);
    const SUM most = lse > before ? lse : before, both = most + log(exp(lse - most) + exp(before - most));
    for (int d = 0; d < s.head_dim; d++) {
        float *to = p.out + line * s.head_dim + d;
        *to = first ? (float)out[d] : (float)(out[d] * exp(lse - both) + (SUM)*to * exp(before - both));
    }
    p.lse[line] = (float)both;
}

static inline const float *plain_keys(const struct ring_part *part, const struct ring_sizes *s, int step,
                                      int values)
{
    const size_t elems = (size_t)s->heads * (size_t)s->part * (size_t)s->head_dim;
    const float *buffer = (const float *)part->workspace;
    if (step == 0) return values ? part->v : part->k;
    return buffer + (size_t)(step % 2 == 0 ? 2 : 0) * elems + (size_t)values * elems;
}

/** Everything in one stream: nothing has to wait for anything else. */
template <typename SUM>
static enum kernel_status plain_go_round(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                         const struct ring_parts *parts)
{
    const size_t needed = ranks == NULL ? 0 : ring_attention_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = ring_attention_check(ranks, sizes, parts, needed);
    const int n = ranks == NULL ? 0 : ranks->ranks;
    for (int step = 0; step < n && status == KERNEL_OK; step++) {
        const size_t elems = (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
        const SUM scale = sizes->scale == 0 ? 1 / sqrt((SUM)sizes->head_dim) : (SUM)sizes->scale;
        for (int i = 0; i < ranks->count && status == KERNEL_OK; i++) {
            const struct gpu_rank *r = &ranks->at[i];
            if (sizes->causal && (r->rank + n - step) % n > r->rank) continue;
            if (cudaSetDevice(r->device) != cudaSuccess) return KERNEL_CUDA_ERROR;
            plain_ring<SUM>
                <<<plain_blocks((size_t)sizes->heads * (size_t)sizes->part), PLAIN_THREADS, 0, r->stream>>>(
                    *sizes, parts->at[i], plain_keys(&parts->at[i], sizes, step, 0),
                    plain_keys(&parts->at[i], sizes, step, 1), scale, step == 0);
            status = launch_status();
        }
        if (status != KERNEL_OK || step + 1 == n) return status;
        ncclResult_t result = ncclGroupStart();
        for (int i = 0; i < ranks->count; i++)
            for (int values = 1; values >= 0 && result == ncclSuccess; values--) {
                const struct gpu_rank *r = &ranks->at[i];
                float *to = (float *)plain_keys(&parts->at[i], sizes, step + 1, values);
                result = ncclRecv(to, elems, ncclFloat, (r->rank + n - 1) % n, r->comm, r->stream);
                if (result != ncclSuccess) break;
                result = ncclSend(plain_keys(&parts->at[i], sizes, step, values), elems, ncclFloat,
                                  (r->rank + 1) % n, r->comm, r->stream);
            }
        status = plain_end(result);
    }
    return status;
}

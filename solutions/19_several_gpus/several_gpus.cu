// [student: head]
/*
 * Lesson 19: a layer's weights shared out, and a sequence's keys passed round.
 *
 * Tensor parallel: the first matrix of each half of a layer is cut by outputs, so that a rank makes what only it needs; the second
 * by inputs, so that a rank's result is a part of a sum, which an all-reduce adds up: two all-reduces per layer.
 *
 *     x ─▶ own heads of q, k, v ─▶ attention ─▶ W_o, own columns ─▶ partial ══ all-reduce ══▶ x += sum
 *     x ─▶ own units of gate, up ─▶ silu · up ─▶ W_down, own columns ─▶ partial ══ all-reduce ══▶ x += sum
 *
 * Ring: in step s rank r attends to the keys of rank r - s, merges (lesson 03), and passes them on meanwhile.
 * Shoeybi and others 2019, Megatron-LM, section 3. Liu, Zaharia and Abbeel 2023, Ring Attention with Blockwise Transformers.
 */
// [/student]
#include "several_gpus.h"

#include "kernel_launch.h" // divide_up(), launch_status()
#include "rank_parts.h"    // checks, buffers, struct product
#include "warp_reduce.h"   // warp_sum()

enum {
    WARP = 32,
    WARPS = 4, // of a block
    THREADS = WARPS * WARP,
    LANE_DIMS = 4,  // elements of a head that a lane has
    LINES = 2,      // of weights that a warp reads at the same time
    ROWS = 8,       // of x for which it reads them, at most
    KEY_WARPS = 16, // that share out the keys of a head in a decode step
    KEYS = 4        // that such a warp reads at the same time
};

/** The queries of a warp of the ring: four columns of each in each lane; m and l are of query lane % QUERIES. */
struct queries {
    float4 q[QUERIES], o[QUERIES];
    float m, l;
};

/** What a rank's queries attend to in one step of the ring. */
struct ring_step {
    struct ring_sizes sizes;
    const float *q, *k, *v; // [heads, part, head_dim]
    float *out, *lse;       // [heads, part, head_dim], [heads, part]
    float scale;
    int first; // 1: these are the keys of the rank itself, and out and lse hold nothing yet
};

/* ---- products with weights -------------------------------------------------------------------------------------- */

/** A warp: sum[2 i] and sum[2 i + 1] become the sums of row i of x with lines a and b, in every lane. All begin at a multiple of 16 bytes. */
template <int COUNT> // rows of x, of which `rows` exist
__device__ inline void dots(float *sum, const float *a, const float *b, const float *x, int inputs, int rows)
{
    // [student: product_dots]
#pragma unroll
    for (int i = 0; i < LINES * COUNT; i++) sum[i] = 0.0f;
#pragma unroll 4
    for (int at = 4 * (int)(threadIdx.x % WARP); at < inputs; at += 4 * WARP) {
        const float4 v = *(const float4 *)(a + at), w = *(const float4 *)(b + at);
#pragma unroll
        for (int i = 0; i < COUNT; i++) { // past the last row: the last one again, unused
            const float4 y = *(const float4 *)(x + (size_t)min(i, rows - 1) * inputs + at);
            sum[LINES * i] += v.x * y.x + v.y * y.y + (v.z * y.z + v.w * y.w);
            sum[LINES * i + 1] += w.x * y.x + w.y * y.y + (w.z * y.z + w.w * y.w);
        }
    }
    warp_sum<LINES * COUNT>(sum);
    // [/student]
}

/** Outputs 0 .. own - 1 are q, the next own k, the last v. */
__device__ inline void write_qkv(const struct product &p, int row, int output, float sum)
{
    // [student: product_qkv]
    const int own = p.heads * p.sizes.head_dim, which = output / own, at = output % own;
    const int head = at / p.sizes.head_dim, d = at % p.sizes.head_dim;
    if (which == 0) {
        p.out[(size_t)row * own + at] = sum;
        return;
    }
    const size_t line = ((size_t)(which - 1) * p.sizes.rows + row) * p.heads + head;
    p.cache[(line * p.sizes.room + p.sizes.position) * p.sizes.head_dim + d] = sum;
    // [/student]
}

/** A sum of one row, or those of gate and up, to where its kind of product puts it. */
template <int KIND>
__device__ inline void store(const struct product &p, int row, int output, float sum, float up)
{
    // [student: product_store]
    if (KIND == TO_QKV)
        write_qkv(p, row, output, sum);
    else
        p.out[(size_t)row * p.outputs + output] = KIND == TO_GATED ? sum / (1.0f + expf(-sum)) * up : sum;
    // [/student]
}

/** Warp (two lines, COUNT rows): gate and up of an output, or two outputs; the sums, and what becomes of them. */
template <int KIND, int COUNT> __global__ void __launch_bounds__(THREADS) product_kernel(struct product p)
{
    // [student: product_kernel]
    const int warp = (int)(blockIdx.x * WARPS + threadIdx.x / WARP), row = (int)blockIdx.y * ROWS;
    const int output = KIND == TO_GATED ? warp : LINES * warp, rows = min(p.sizes.rows - row, COUNT);
    // The kinds but TO_GATED have an even number of outputs.
    const int other = output + (KIND == TO_GATED ? p.outputs : 1);
    if (output >= p.outputs) return; // the whole warp
    float sum[LINES * COUNT];
    dots<COUNT>(sum, p.weights + (size_t)output * p.inputs, p.weights + (size_t)other * p.inputs,
                p.x + (size_t)row * p.inputs, p.inputs, rows);
    if (threadIdx.x % WARP != 0) return;
#pragma unroll
    for (int i = 0; i < COUNT; i++) { // known when compiling: sums are registers
        if (i >= rows) continue;
        store<KIND>(p, row + i, output, sum[LINES * i], sum[LINES * i + 1]);
        if (KIND != TO_GATED) store<KIND>(p, row + i, other, sum[LINES * i + 1], 0.0f);
    }
    // [/student]
}

/** A warp for two lines of weights, and for as many rows as it reads them for: from memory they come once. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    const int lines = KIND == TO_GATED ? LINES * p.outputs : p.outputs;
    const dim3 grid((unsigned)divide_up(lines, LINES * WARPS), (unsigned)divide_up(p.sizes.rows, ROWS));
    if (p.sizes.rows == 1)
        product_kernel<KIND, 1><<<grid, THREADS, 0, stream>>>(p);
    else
        product_kernel<KIND, ROWS><<<grid, THREADS, 0, stream>>>(p);
    return launch_status();
}

/* ---- a layer ---------------------------------------------------------------------------------------------------- */

/** A warp: `count` more keys, no more than KEYS, which begin at `keys` and `values`, by the online softmax of lesson 03. Their loads, and
 *  their shuffles, wait together. */
__device__ inline void see_keys(struct seen *seen, float4 q, const float *keys, const float *values,
                                int count, int dim, float scale)
{
    // [student: see_keys]
    const int at = LANE_DIMS * (int)(threadIdx.x % WARP);
    float4 k[KEYS], v[KEYS];
    float score[KEYS], m = seen->m;
#pragma unroll
    for (int i = 0; i < KEYS; i++) { // lanes past head_dim, and keys past the last, are zeros
        k[i] = v[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (at >= dim || i >= count) continue;
        k[i] = *(const float4 *)(keys + i * dim + at), v[i] = *(const float4 *)(values + i * dim + at);
    }
#pragma unroll
    for (int i = 0; i < KEYS; i++) score[i] = q.x * k[i].x + q.y * k[i].y + (q.z * k[i].z + q.w * k[i].w);
    warp_sum<KEYS>(score);
#pragma unroll
    for (int i = 0; i < KEYS; i++)
        if (i < count) m = fmaxf(m, score[i] * scale);
    const float old = expf(seen->m - m);
    *seen = {m, seen->l * old, scaled(seen->o, old)};
#pragma unroll
    for (int i = 0; i < KEYS; i++) {
        const float weight = i < count ? expf(score[i] * scale - m) : 0.0f;
        seen->l += weight;
        seen->o = plus_scaled(seen->o, v[i], weight);
    }
    // [/student]
}

/** Block (head, row, span): attention of one query to positions 0 .. position of its row, or to a span of them. Warps share them out. */
__global__ void __launch_bounds__(KEY_WARPS *WARP)
    decode_kernel(struct layer_sizes s, int heads, const float *q, const float *cache, float *to)
{
    // [student: decode_kernel]
    __shared__ float4 o_of[KEY_WARPS][WARP]; // what each warp has seen
    __shared__ float2 m_l_of[KEY_WARPS];
    const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP, at = LANE_DIMS * lane;
    const int spans = (int)gridDim.z, dim = s.head_dim, per_span = divide_up(s.position + 1, spans);
    const int first = (int)blockIdx.z * per_span, end = min(first + per_span, s.position + 1);
    const size_t line = (size_t)blockIdx.y * heads + blockIdx.x;
    const float *keys = cache + line * s.room * dim, *values = keys + (size_t)s.rows * heads * s.room * dim;
    struct seen seen = {-INFINITY, 0.0f, make_float4(0.0f, 0.0f, 0.0f, 0.0f)};
    float4 mine = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (at < dim) mine = *(const float4 *)(q + line * dim + at);
    for (int j = first + KEYS * warp; j < end; j += KEYS * KEY_WARPS)
        see_keys(&seen, mine, keys + (size_t)j * dim, values + (size_t)j * dim, min(end - j, KEYS), dim,
                 rsqrtf((float)dim));
    o_of[warp][lane] = seen.o;
    if (lane == 0) m_l_of[warp] = make_float2(seen.m, seen.l);
    __syncthreads(); // all warps have seen their keys
    if (warp != 0) return;
    for (int i = 1; i < KEY_WARPS; i++) seen = joined(seen, {m_l_of[i].x, m_l_of[i].y, o_of[i][lane]});
    float *out = to + (spans > 1 ? (line * spans + blockIdx.z) * (dim + 4) : line * dim);
    const float4 o = scaled(seen.o, spans > 1 ? 1.0f : 1.0f / seen.l);
    if (at < dim) *(float4 *)(out + at) = o;
    if (spans > 1 && lane == 0) out[dim] = seen.m, out[dim + 1] = seen.l;
    // [/student]
}

/** partial = W_o attention(W_q x, keys, values) of the heads of @p rank; keys and values are appended first. */
static enum kernel_status launch_attention(const struct gpu_rank *rank, int ranks,
                                           const struct layer_sizes *sizes, const struct layer_shard *shard)
{
    // [student: half_attention]
    const struct layer_buffers b = place_buffers(sizes, ranks, shard->workspace);
    const int heads = sizes->heads / ranks, own = own_width(sizes, ranks);
    const struct product qkv = {shard->qkv,   shard->x, b.q,    shard->cache,
                                sizes->width, 3 * own,  *sizes, heads};
    const struct product o = {shard->o, b.attended, b.partial, NULL, own, sizes->width, *sizes, heads};
    enum kernel_status status = cuda_status(cudaSetDevice(rank->device));
    if (status == KERNEL_OK) status = launch_product<TO_QKV>(qkv, rank->stream);
    if (status != KERNEL_OK) return status;
    const int spans = spans_of(sizes, ranks);
    const dim3 grid((unsigned)heads, (unsigned)sizes->rows, (unsigned)spans);
    decode_kernel<<<grid, KEY_WARPS * WARP, 0, rank->stream>>>(*sizes, heads, b.q, shard->cache,
                                                               spans > 1 ? b.gated : b.attended);
    status = launch_status();
    if (status != KERNEL_OK) return status;
    const dim3 of_heads((unsigned)divide_up(heads, WARPS), (unsigned)sizes->rows);
    if (spans > 1)
        join_kernel<WARP>
            <<<of_heads, THREADS, 0, rank->stream>>>(b.attended, b.gated, heads, spans, sizes->head_dim);
    status = launch_status();
    return status == KERNEL_OK ? launch_product<TO_PARTIAL>(o, rank->stream) : status;
    // [/student]
}

/** partial = W_down (silu(W_gate x) * W_up x) of the units of @p rank. */
static enum kernel_status launch_mlp(const struct gpu_rank *rank, int ranks, const struct layer_sizes *sizes,
                                     const struct layer_shard *shard)
{
    // [student: half_mlp]
    const struct layer_buffers b = place_buffers(sizes, ranks, shard->workspace);
    const int units = sizes->inner / ranks;
    const struct product gate_up = {shard->gate_up, shard->x, b.gated, NULL, sizes->width, units, *sizes, 0};
    const struct product down = {shard->down, b.gated, b.partial, NULL, units, sizes->width, *sizes, 0};
    enum kernel_status status = cuda_status(cudaSetDevice(rank->device));
    if (status == KERNEL_OK) status = launch_product<TO_GATED>(gate_up, rank->stream);
    return status == KERNEL_OK ? launch_product<TO_PARTIAL>(down, rank->stream) : status;
    // [/student]
}

/** partial becomes the sum of all ranks' partial. The calls for several ranks are one group: none waits for the next. */
static enum kernel_status all_reduce(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                     const struct layer_shards *shards)
{
    // [student: all_reduce]
    const size_t count = (size_t)sizes->rows * (size_t)sizes->width;
    enum kernel_status status = nccl_status(ncclGroupStart());
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++) {
        float *partial = place_buffers(sizes, ranks->ranks, shards->at[i].workspace).partial;
        status = nccl_status(ncclAllReduce(partial, partial, count, ncclFloat, ncclSum, ranks->at[i].comm,
                                           ranks->at[i].stream));
    }
    const enum kernel_status ended = nccl_status(ncclGroupEnd()); // also after an error: no group stays open
    return status == KERNEL_OK ? ended : status;
    // [/student]
}

/** x += sum, a thread per element. */
__global__ void __launch_bounds__(THREADS) add_kernel(float *x, const float *sum, int count) // [count]
{
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (i < count) x[i] += sum[i];
}

/** x += the sum of all ranks' partial, on every rank. */
static enum kernel_status add_up(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                 const struct layer_shards *shards)
{
    const int count = sizes->rows * sizes->width;
    enum kernel_status status = all_reduce(ranks, sizes, shards);
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++) {
        const struct layer_buffers b = place_buffers(sizes, ranks->ranks, shards->at[i].workspace);
        status = cuda_status(cudaSetDevice(ranks->at[i].device));
        if (status != KERNEL_OK) break;
        add_kernel<<<divide_up(count, THREADS), THREADS, 0, ranks->at[i].stream>>>(shards->at[i].x, b.partial,
                                                                                   count);
        status = launch_status();
    }
    return status;
}

size_t tensor_parallel_workspace_bytes(const struct layer_sizes *sizes, int ranks)
{
    if (sizes == NULL || !ranks_fit(ranks) || !layer_fits(sizes, ranks)) return 0;
    // [student: workspace_layer]
    return place_buffers(sizes, ranks, NULL).bytes;
    // [/student]
}

enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards)
{
    const size_t needed = ranks == NULL ? 0 : tensor_parallel_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = tensor_parallel_check(ranks, sizes, shards, needed);
    if (status != KERNEL_OK) return status;
    // [student: step]
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
        status = launch_attention(&ranks->at[i], ranks->ranks, sizes, &shards->at[i]);
    if (status == KERNEL_OK) status = add_up(ranks, sizes, shards);
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
        status = launch_mlp(&ranks->at[i], ranks->ranks, sizes, &shards->at[i]);
    if (status == KERNEL_OK) status = add_up(ranks, sizes, shards);
    return status;
    // [/student]
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

/** A warp: one more key for its queries number `from` and following. */
__device__ inline void see_key(struct queries *all, float4 key, float4 value, float scale, int from)
{
    // [student: see_key]
    const int mine = (int)threadIdx.x % QUERIES;
    float dot[QUERIES];
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float4 q = all->q[i];
        dot[i] = q.x * key.x + q.y * key.y + (q.z * key.z + q.w * key.w);
    }
    const float sum = sum_of_query(dot), score = mine < from ? -INFINITY : sum * scale;
    const float m = fmaxf(all->m, score);
    if (__any_sync(ALL_LANES, m > all->m)) { // rare after a few keys
        const float old = expf(all->m - m);
        all->m = m, all->l *= old;
#pragma unroll
        for (int i = 0; i < QUERIES; i++) all->o[i] = scaled(all->o[i], __shfl_sync(ALL_LANES, old, i));
    }
    const float weight = expf(score - m);
    all->l += weight;
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float of_query = __shfl_sync(ALL_LANES, weight, i);
        if (i >= from) all->o[i] = plus_scaled(all->o[i], value, of_query); // a hidden value may be NaN
    }
    // [/student]
}

/** (out, lse) of some keys and those of others become those of all. */
__device__ inline void merge(float4 *out, float *lse, float4 other, float other_lse)
{
    // [student: merge]
    const float m = fmaxf(*lse, other_lse), a = expf(*lse - m), b = expf(other_lse - m), sum = a + b;
    out->x = (out->x * a + other.x * b) / sum;
    out->y = (out->y * a + other.y * b) / sum;
    out->z = (out->z * a + other.z * b) / sum;
    out->w = (out->w * a + other.w * b) / sum;
    *lse = m + logf(sum);
    // [/student]
}

/** Warp (head, QUERIES queries of this rank): attention to the keys of one part, merged with what out and lse hold of others. */
__global__ void __launch_bounds__(THREADS) ring_kernel(struct ring_step s)
{
    // [student: ring_kernel]
    const int part = s.sizes.part, dim = s.sizes.head_dim, blocks = divide_up(part, QUERIES * WARPS);
    const int first = (int)(blockIdx.x % blocks * WARPS + threadIdx.x / WARP) * QUERIES;
    const int lane = (int)threadIdx.x % WARP, at = LANE_DIMS * lane, count = min(part - first, QUERIES);
    if (first >= part) return; // the whole warp
    const size_t line = (size_t)(blockIdx.x / blocks) * part, keys = line * dim;
    // Masked, the first query sees the keys up to itself, the next one more.
    const bool masked = s.first && s.sizes.causal;
    const int visible = masked ? first + 1 : part, end = masked ? first + count : part;
    struct queries all;
    all.m = -INFINITY, all.l = 0.0f;
#pragma unroll
    for (int i = 0; i < QUERIES; i++) { // past the last query: the last one again, unused
        const size_t query = (line + first + min(i, count - 1)) * dim;
        all.q[i] = at < dim ? *(const float4 *)(s.q + query + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        all.o[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    float4 k = make_float4(0.0f, 0.0f, 0.0f, 0.0f), v = k, next_k = k, next_v = k;
    if (at < dim) k = *(const float4 *)(s.k + keys + at), v = *(const float4 *)(s.v + keys + at);
    for (int j = 0; j < end; j++, k = next_k, v = next_v) { // the next key comes while this one is used
        const size_t next = keys + (size_t)(j + 1) * dim + at;
        if (at < dim && j + 1 < end)
            next_k = *(const float4 *)(s.k + next), next_v = *(const float4 *)(s.v + next);
        if (j < visible)
            see_key(&all, k, v, s.scale, 0);
        else
            see_key(&all, k, v, s.scale, j - first);
    }
    const float lse = all.m + logf(all.l),
                before = s.first ? 0.0f : s.lse[line + first + min(lane % QUERIES, count - 1)];
    float both = lse;
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float l = __shfl_sync(ALL_LANES, all.l, i), other_lse = __shfl_sync(ALL_LANES, before, i);
        float4 *to = (float4 *)(s.out + (line + first + i) * dim + at), out = scaled(all.o[i], 1.0f / l);
        float mine = __shfl_sync(ALL_LANES, lse, i);
        if (i >= count) continue;
        if (!s.first) merge(&out, &mine, at < dim ? *to : out, other_lse);
        if (at < dim) *to = out;
        if (lane == i) both = mine;
    }
    __syncwarp(); // all lanes have read lse before one of them writes it
    if (lane < count) s.lse[line + first + lane] = both;
    // [/student]
}

/** Keys, or values, that a rank attends to in @p step: its own, then those that arrived in one of two buffers. */
static const float *keys_at(const struct ring_part *part, const struct ring_sizes *sizes, int step,
                            int values)
{
    const size_t elems = (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
    if (step == 0) return values ? part->v : part->k;
    return (const float *)part->workspace + (size_t)((step - 1) % 2 * 2 + values) * elems;
}

/** The kernel of @p step on one rank, if its queries see any of these keys. */
static enum kernel_status attend(const struct gpu_rank *rank, int ranks, const struct ring_sizes *sizes,
                                 const struct ring_part *part, int step)
{
    // [student: attend]
    const int owner = (rank->rank + ranks - step) % ranks;
    enum kernel_status status = cuda_status(cudaSetDevice(rank->device));
    if (status == KERNEL_OK && !(sizes->causal && owner > rank->rank)) {
        const float scale = sizes->scale == 0.0f ? 1.0f / sqrtf((float)sizes->head_dim) : sizes->scale;
        const struct ring_step s = {*sizes,
                                    part->q,
                                    keys_at(part, sizes, step, 0),
                                    keys_at(part, sizes, step, 1),
                                    part->out,
                                    part->lse,
                                    scale,
                                    step == 0};
        const int blocks = sizes->heads * divide_up(sizes->part, QUERIES * WARPS);
        ring_kernel<<<blocks, THREADS, 0, rank->stream>>>(s);
        status = launch_status();
    }
    return status == KERNEL_OK ? cuda_status(cudaEventRecord(rank->used, rank->stream)) : status;
    // [/student]
}

/** Sends the keys and values of @p step to the next rank, and receives those of the step after from the rank before. */
static enum kernel_status pass_on(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts, int step)
{
    // [student: pass_on]
    const size_t count = (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
    const int n = ranks->ranks;
    enum kernel_status status = KERNEL_OK;
    // The kernel of the step before has read the buffer that is received into.
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
        status = cuda_status(cudaStreamWaitEvent(ranks->at[i].transfer, ranks->at[i].used, 0));
    if (status != KERNEL_OK) return status;
    status = nccl_status(ncclGroupStart());
    for (int i = 0; i < 2 * ranks->count && status == KERNEL_OK; i++) { // keys, then values
        const struct gpu_rank *r = &ranks->at[i / 2];
        const struct ring_part *part = &parts->at[i / 2];
        float *to = (float *)keys_at(part, sizes, step + 1, i % 2);
        status = nccl_status(ncclSend(keys_at(part, sizes, step, i % 2), count, ncclFloat, (r->rank + 1) % n,
                                      r->comm, r->transfer));
        if (status != KERNEL_OK) break;
        status = nccl_status(ncclRecv(to, count, ncclFloat, (r->rank + n - 1) % n, r->comm, r->transfer));
    }
    const enum kernel_status ended = nccl_status(ncclGroupEnd());
    if (status == KERNEL_OK) status = ended;
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
        status = cuda_status(cudaEventRecord(ranks->at[i].arrived, ranks->at[i].transfer));
    return status;
    // [/student]
}

size_t ring_attention_workspace_bytes(const struct ring_sizes *sizes, int ranks)
{
    if (sizes == NULL || !ranks_fit(ranks) || !ring_fits(sizes)) return 0;
    // [student: workspace_ring]
    const size_t elems = (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
    return (size_t)(ranks == 1 ? 0 : ranks == 2 ? 1 : 2) * 2 * elems * sizeof(float);
    // [/student]
}

enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts)
{
    const size_t needed = ranks == NULL ? 0 : ring_attention_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = ring_attention_check(ranks, sizes, parts, needed);
    if (status != KERNEL_OK) return status;
    // [student: ring]
    // What the caller has put into `stream` comes before the first transfer, too.
    for (int i = 0; i < ranks->count && status == KERNEL_OK; i++) {
        status = cuda_status(cudaSetDevice(ranks->at[i].device));
        if (status == KERNEL_OK)
            status = cuda_status(cudaEventRecord(ranks->at[i].used, ranks->at[i].stream));
    }
    for (int step = 0; step < ranks->ranks && status == KERNEL_OK; step++) {
        for (int i = 0; i < ranks->count && step > 0 && status == KERNEL_OK; i++)
            status = cuda_status(cudaStreamWaitEvent(ranks->at[i].stream, ranks->at[i].arrived, 0));
        if (status == KERNEL_OK && step + 1 < ranks->ranks) status = pass_on(ranks, sizes, parts, step);
        for (int i = 0; i < ranks->count && status == KERNEL_OK; i++)
            status = attend(&ranks->at[i], ranks->ranks, sizes, &parts->at[i], step);
    }
    return status;
    // [/student]
}

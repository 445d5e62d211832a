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

#include "kernel_launch.h"
#include "rank_parts.h" // checks, buffers, what a product is told
#include "warp_reduce.h"

enum {
    WARP = 32,
    WARPS = 4, // of a block
    THREADS = WARPS * WARP,
    LANE_DIMS = 4 // elements of a head that a lane has
};

/** What a warp knows of the keys it has seen: m and l in every lane, four columns of o in each. */
struct seen {
    float m, l; // largest score, sum of exp(score - m)
    float4 o;   // sum of exp(score - m) * value
};

/** What a rank's queries attend to in one step of the ring. */
struct ring_step {
    struct ring_sizes sizes;
    const float *q, *k, *v; // [heads, part, head_dim]
    float *out, *lse;       // [heads, part, head_dim], [heads, part]
    float scale;
    int first; // 1: these are the keys of the rank itself, and out and lse hold nothing yet
};

// In the order of their calls: the two halves of a layer, the sum over ranks; then the ring.
static enum kernel_status launch_attention(const struct gpu_rank *rank, int ranks,
                                           const struct layer_sizes *sizes, const struct layer_shard *shard);
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream);
template <int KIND> __global__ void product_kernel(struct product p);
__device__ inline float dot(const float *a, const float *b, int count);
__device__ inline void write_qkv(const struct product &p, int row, int output, float sum);
__global__ void decode_kernel(struct layer_sizes s, int heads, const float *q, const float *cache,
                              float *attended);
__device__ inline void see_key(struct seen *seen, float4 q, const float *key, const float *value, int dim,
                               float scale);
static enum kernel_status add_up(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                 const struct layer_shards *shards);
static enum kernel_status all_reduce(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                     const struct layer_shards *shards);
__global__ void add_kernel(float *x, const float *sum, int count);
static enum kernel_status launch_mlp(const struct gpu_rank *rank, int ranks, const struct layer_sizes *sizes,
                                     const struct layer_shard *shard);
static const float *keys_at(const struct ring_part *part, const struct ring_sizes *sizes, int step,
                            int values);
static enum kernel_status pass_on(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts, int step);
static enum kernel_status attend(const struct gpu_rank *rank, int ranks, const struct ring_sizes *sizes,
                                 const struct ring_part *part, int step);
__global__ void ring_kernel(struct ring_step s);
__device__ inline void merge(float4 *out, float *lse, float4 other, float other_lse);

/* ---- a layer ---------------------------------------------------------------------------------------------------- */

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
    const dim3 grid((unsigned)divide_up(heads, WARPS), (unsigned)sizes->rows);
    decode_kernel<<<grid, THREADS, 0, rank->stream>>>(*sizes, heads, b.q, shard->cache, b.attended);
    status = launch_status();
    return status == KERNEL_OK ? launch_product<TO_PARTIAL>(o, rank->stream) : status;
    // [/student]
}

/** A warp for every output of every row. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    const dim3 grid((unsigned)divide_up(p.outputs, WARPS), (unsigned)p.sizes.rows);
    product_kernel<KIND><<<grid, THREADS, 0, stream>>>(p);
    return launch_status();
}

/** Warp (output, row): the sum over all inputs, and what becomes of it. */
template <int KIND> __global__ void __launch_bounds__(THREADS) product_kernel(struct product p)
{
    // [student: product_kernel]
    const int output = (int)(blockIdx.x * WARPS + threadIdx.x / WARP), row = (int)blockIdx.y;
    if (output >= p.outputs) return; // the whole warp
    const float *x = p.x + (size_t)row * p.inputs, *w = p.weights + (size_t)output * p.inputs;
    const float sum = dot(w, x, p.inputs);
    float up = 0.0f;
    if (KIND == TO_GATED) up = dot(w + (size_t)p.outputs * p.inputs, x, p.inputs);
    if (threadIdx.x % WARP != 0) return;
    if (KIND == TO_QKV)
        write_qkv(p, row, output, sum);
    else
        p.out[(size_t)row * p.outputs + output] = KIND == TO_GATED ? sum / (1.0f + expf(-sum)) * up : sum;
    // [/student]
}

/** A warp: the sum of a[i] * b[i], in every lane. Both begin at a multiple of 16 bytes. */
__device__ inline float dot(const float *a, const float *b, int count) // [count], a multiple of 4
{
    // [student: product_dot]
    float sum[1] = {0.0f};
    for (int i = 4 * (int)(threadIdx.x % WARP); i < count; i += 4 * WARP) {
        const float4 x = *(const float4 *)(a + i), y = *(const float4 *)(b + i);
        sum[0] += x.x * y.x + x.y * y.y + (x.z * y.z + x.w * y.w);
    }
    warp_sum<1>(sum);
    return sum[0];
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

/** Warp (head, row): attention of one query to positions 0 .. position of its row. */
__global__ void __launch_bounds__(THREADS)
    decode_kernel(struct layer_sizes s, int heads, const float *q, const float *cache, float *attended)
{
    // [student: decode_kernel]
    const int head = (int)(blockIdx.x * WARPS + threadIdx.x / WARP), row = (int)blockIdx.y;
    const int at = LANE_DIMS * (int)(threadIdx.x % WARP);
    if (head >= heads) return; // the whole warp
    const size_t line = (size_t)row * heads + head, half = (size_t)s.rows * heads * s.room * s.head_dim;
    const float *keys = cache + line * s.room * s.head_dim, *values = keys + half;
    struct seen seen = {-INFINITY, 0.0f, make_float4(0.0f, 0.0f, 0.0f, 0.0f)};
    float4 mine = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (at < s.head_dim) mine = *(const float4 *)(q + line * s.head_dim + at);
    for (int j = 0; j <= s.position; j++)
        see_key(&seen, mine, keys + (size_t)j * s.head_dim, values + (size_t)j * s.head_dim, s.head_dim,
                rsqrtf((float)s.head_dim));
    if (at >= s.head_dim) return;
    const float4 o = make_float4(seen.o.x / seen.l, seen.o.y / seen.l, seen.o.z / seen.l, seen.o.w / seen.l);
    *(float4 *)(attended + line * s.head_dim + at) = o;
    // [/student]
}

/** A warp: one more key, by the online softmax of lesson 03. Lanes past head_dim add zeros. */
__device__ inline void see_key(struct seen *seen, float4 q, const float *key, const float *value, int dim,
                               float scale)
{
    // [student: see_key]
    const int at = LANE_DIMS * (int)(threadIdx.x % WARP);
    float4 k = make_float4(0.0f, 0.0f, 0.0f, 0.0f), v = k;
    if (at < dim) k = *(const float4 *)(key + at), v = *(const float4 *)(value + at);
    float score[1] = {q.x * k.x + q.y * k.y + (q.z * k.z + q.w * k.w)};
    warp_sum<1>(score);
    const float s = score[0] * scale, m = fmaxf(seen->m, s), old = expf(seen->m - m), weight = expf(s - m);
    seen->m = m;
    seen->l = seen->l * old + weight;
    seen->o = make_float4(seen->o.x * old + weight * v.x, seen->o.y * old + weight * v.y,
                          seen->o.z * old + weight * v.z, seen->o.w * old + weight * v.w);
    // [/student]
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

/* ---- the ring --------------------------------------------------------------------------------------------------- */

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

/** Keys, or values, that a rank attends to in @p step: its own, then those that arrived in one of two buffers. */
static const float *keys_at(const struct ring_part *part, const struct ring_sizes *sizes, int step,
                            int values)
{
    const size_t elems = (size_t)sizes->heads * (size_t)sizes->part * (size_t)sizes->head_dim;
    if (step == 0) return values ? part->v : part->k;
    return (const float *)part->workspace + (size_t)((step - 1) % 2 * 2 + values) * elems;
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
        ring_kernel<<<divide_up(sizes->heads * sizes->part, WARPS), THREADS, 0, rank->stream>>>(s);
        status = launch_status();
    }
    return status == KERNEL_OK ? cuda_status(cudaEventRecord(rank->used, rank->stream)) : status;
    // [/student]
}

/** Warp (head, query): attention to the keys of one part, merged with what out and lse hold of others. */
__global__ void __launch_bounds__(THREADS) ring_kernel(struct ring_step s)
{
    // [student: ring_kernel]
    const int line = (int)(blockIdx.x * WARPS + threadIdx.x / WARP),
              at = LANE_DIMS * (int)(threadIdx.x % WARP);
    const int part = s.sizes.part, dim = s.sizes.head_dim;
    if (line >= s.sizes.heads * part) return; // the whole warp
    const size_t place = (size_t)line * dim + at, keys = (size_t)(line / part) * part * dim;
    const int visible = s.first && s.sizes.causal ? line % part + 1 : part;
    struct seen seen = {-INFINITY, 0.0f, make_float4(0.0f, 0.0f, 0.0f, 0.0f)};
    float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (at < dim) q = *(const float4 *)(s.q + place);
    for (int j = 0; j < visible; j++)
        see_key(&seen, q, s.k + keys + (size_t)j * dim, s.v + keys + (size_t)j * dim, dim, s.scale);
    const float lse = seen.m + logf(seen.l);
    float4 out = make_float4(seen.o.x / seen.l, seen.o.y / seen.l, seen.o.z / seen.l, seen.o.w / seen.l);
    float both = lse;
    if (!s.first) {
        const float other_lse = s.lse[line];
        float4 other = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (at < dim) other = *(const float4 *)(s.out + place);
        merge(&out, &both, other, other_lse);
    }
    __syncwarp(); // all lanes have read lse before one of them writes it
    if (at < dim) *(float4 *)(s.out + place) = out;
    if (threadIdx.x % WARP == 0) s.lse[line] = both;
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

// [student: head]
/*
 * Lesson 19: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 19                 judges what is there
 *     build/bin/warpwise check 19 --case NAME     looks at one case
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
    /* TODO: the bytes of what place_buffers() lays out, or of what you lay out instead. */
    return 0;
    // [/student]
}

enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards)
{
    const size_t needed = ranks == NULL ? 0 : tensor_parallel_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = tensor_parallel_check(ranks, sizes, shards, needed);
    if (status != KERNEL_OK) return status;
    // [student: step]
    /* TODO: attention on every rank; the sum; the MLP on every rank; the sum. Stop at the first status that is not KERNEL_OK. */
    (void)launch_attention, (void)launch_mlp, (void)add_up;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** partial = W_o attention(W_q x, keys, values) of the heads of @p rank; keys and values are appended first. */
static enum kernel_status launch_attention(const struct gpu_rank *rank, int ranks,
                                           const struct layer_sizes *sizes, const struct layer_shard *shard)
{
    // [student: half_attention]
    /* TODO: make the rank's device current; q, k, v of its heads; decode_kernel; W_o with its columns. */
    (void)rank, (void)ranks, (void)sizes, (void)shard;
    (void)launch_product<TO_QKV>, (void)launch_product<TO_PARTIAL>;
    return KERNEL_OK;
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
    /* TODO: which output and row are this warp's; the sum by dot(), of TO_GATED two; lane 0 writes, of TO_QKV by write_qkv(). */
    (void)p;
    // [/student]
}

/** A warp: the sum of a[i] * b[i], in every lane. Both begin at a multiple of 16 bytes. */
__device__ inline float dot(const float *a, const float *b, int count) // [count], a multiple of 4
{
    // [student: product_dot]
    /* TODO: four elements per load, 128 per step of the warp; then the lanes' sums by warp_sum<1>(). */
    (void)a, (void)b, (void)count;
    return 0.0f;
    // [/student]
}

/** Outputs 0 .. own - 1 are q, the next own k, the last v. */
__device__ inline void write_qkv(const struct product &p, int row, int output, float sum)
{
    // [student: product_qkv]
    /* TODO: a query to p.out, a key or a value to the cache at p.sizes.position. */
    (void)p, (void)row, (void)output, (void)sum;
    // [/student]
}

/** Warp (head, row): attention of one query to positions 0 .. position of its row. */
__global__ void __launch_bounds__(THREADS)
    decode_kernel(struct layer_sizes s, int heads, const float *q, const float *cache, float *attended)
{
    // [student: decode_kernel]
    /* TODO: which head and row are this warp's; see_key() for every position up to the last; divide by l. */
    (void)s, (void)heads, (void)q, (void)cache, (void)attended;
    // [/student]
}

/** A warp: one more key, by the online softmax of lesson 03. Lanes past head_dim add zeros. */
__device__ inline void see_key(struct seen *seen, float4 q, const float *key, const float *value, int dim,
                               float scale)
{
    // [student: see_key]
    /* TODO: the score by warp_sum<1>(); the new maximum; what was there is rescaled, the value is added with its weight. */
    (void)seen, (void)q, (void)key, (void)value, (void)dim, (void)scale;
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
    /* TODO: one group; in it ncclAllReduce() of rows * width floats for every rank, in place. */
    (void)ranks, (void)sizes, (void)shards;
    return KERNEL_OK;
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
    /* TODO: gate and up of the rank's units, as one product; W_down with their columns. */
    (void)rank, (void)ranks, (void)sizes, (void)shard;
    (void)launch_product<TO_GATED>;
    return KERNEL_OK;
    // [/student]
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

size_t ring_attention_workspace_bytes(const struct ring_sizes *sizes, int ranks)
{
    if (sizes == NULL || !ranks_fit(ranks) || !ring_fits(sizes)) return 0;
    // [student: workspace_ring]
    /* TODO: keys and values of the parts that arrive: how many must a rank hold at once? */
    return 0;
    // [/student]
}

enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts)
{
    const size_t needed = ranks == NULL ? 0 : ring_attention_workspace_bytes(sizes, ranks->ranks);
    enum kernel_status status = ring_attention_check(ranks, sizes, parts, needed);
    if (status != KERNEL_OK) return status;
    // [student: ring]
    /* TODO: record `used` on every rank, so that `transfer` can begin. Then `ranks` steps: wait for what has arrived; pass it on;
     * attend to it. The last step passes nothing on. */
    (void)pass_on, (void)attend;
    return KERNEL_NOT_STARTED;
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
    /* TODO: `transfer` waits for `used`; one group of sends and receives for all ranks; `arrived` is recorded. */
    (void)ranks, (void)sizes, (void)parts, (void)step, (void)keys_at;
    return KERNEL_OK;
    // [/student]
}

/** The kernel of @p step on one rank, if its queries see any of these keys. */
static enum kernel_status attend(const struct gpu_rank *rank, int ranks, const struct ring_sizes *sizes,
                                 const struct ring_part *part, int step)
{
    // [student: attend]
    /* TODO: whose keys are these? Launch ring_kernel, unless the mask hides all of them; record `used` either way. */
    (void)rank, (void)ranks, (void)sizes, (void)part, (void)step;
    return KERNEL_OK;
    // [/student]
}

/** Warp (head, query): attention to the keys of one part, merged with what out and lse hold of others. */
__global__ void __launch_bounds__(THREADS) ring_kernel(struct ring_step s)
{
    // [student: ring_kernel]
    /* TODO: which query is this warp's, and how many of these keys does it see; see_key() for each; out and lse of these keys;
     * unless they are the first, merge() with what is there. */
    (void)s;
    // [/student]
}

/** (out, lse) of some keys and those of others become those of all. */
__device__ inline void merge(float4 *out, float *lse, float4 other, float other_lse)
{
    // [student: merge]
    /* TODO: the larger lse; both weights relative to it; their sum. */
    (void)out, (void)lse, (void)other, (void)other_lse;
    // [/student]
}

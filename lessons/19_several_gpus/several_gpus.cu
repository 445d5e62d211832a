// Generated, but for what stands between [student: ...] and [/student]: that is yours.
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
    /* TODO: four elements of both lines per load, 128 per step of the warp, and those of each row of x; the lanes' sums by warp_sum(). */
    for (int i = 0; i < LINES * COUNT; i++) sum[i] = 0.0f;
    (void)a, (void)b, (void)x, (void)inputs, (void)rows;
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

/** A sum of one row, or those of gate and up, to where its kind of product puts it. */
template <int KIND>
__device__ inline void store(const struct product &p, int row, int output, float sum, float up)
{
    // [student: product_store]
    /* TODO: of TO_QKV write_qkv() does it; of TO_GATED silu of sum, times up; else the sum itself. */
    (void)p, (void)row, (void)output, (void)sum, (void)up;
    // [/student]
}

/** Warp (two lines, COUNT rows): gate and up of an output, or two outputs; the sums, and what becomes of them. */
template <int KIND, int COUNT> __global__ void __launch_bounds__(THREADS) product_kernel(struct product p)
{
    // [student: product_kernel]
    /* TODO: which two lines of weights and which rows are this warp's: of TO_GATED gate and up of an output, else two outputs. Their
     * sums by dots(); lane 0 hands them to store(). */
    (void)p;
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
    /* TODO: load all keys and values; the scores by warp_sum<KEYS>(); the new maximum; what was there is rescaled, each value is added
     * with its weight. */
    (void)seen, (void)q, (void)keys, (void)values, (void)count, (void)dim, (void)scale;
    // [/student]
}

/** Block (head, row, span): attention of one query to positions 0 .. position of its row, or to a span of them. Warps share them out. */
__global__ void __launch_bounds__(KEY_WARPS *WARP)
    decode_kernel(struct layer_sizes s, int heads, const float *q, const float *cache, float *to)
{
    // [student: decode_kernel]
    /* TODO: which head, row and span are this block's; see_keys() for those keys that are the warp's; what all warps have seen, in shared memory, by
     * joined(); divide by l, unless there are several spans: then join_kernel() does. */
    (void)s, (void)heads, (void)q, (void)cache, (void)to;
    // [/student]
}

/** partial = W_o attention(W_q x, keys, values) of the heads of @p rank; keys and values are appended first. */
static enum kernel_status launch_attention(const struct gpu_rank *rank, int ranks,
                                           const struct layer_sizes *sizes, const struct layer_shard *shard)
{
    // [student: half_attention]
    /* TODO: make the rank's device current; q, k, v of its heads; decode_kernel; W_o with its columns. Until then attention adds 0. */
    (void)launch_product<TO_QKV>, (void)launch_product<TO_PARTIAL>;
    const size_t bytes = (size_t)sizes->rows * (size_t)sizes->width * sizeof(float);
    return cuda_status(
        cudaMemsetAsync(place_buffers(sizes, ranks, shard->workspace).partial, 0, bytes, rank->stream));
    // [/student]
}

/** partial = W_down (silu(W_gate x) * W_up x) of the units of @p rank. */
static enum kernel_status launch_mlp(const struct gpu_rank *rank, int ranks, const struct layer_sizes *sizes,
                                     const struct layer_shard *shard)
{
    // [student: half_mlp]
    /* TODO: make the rank's device current; gate and up of its units, as one product; W_down with their columns. */
    (void)rank, (void)ranks, (void)sizes, (void)shard;
    (void)launch_product<TO_GATED>;
    return KERNEL_OK;
    // [/student]
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

/* ---- the ring --------------------------------------------------------------------------------------------------- */

/** A warp: one more key for its queries number `from` and following. */
__device__ inline void see_key(struct queries *all, float4 key, float4 value, float scale, int from)
{
    // [student: see_key]
    /* TODO: the scores of all queries, of which sum_of_query() leaves each lane one; a new maximum rescales; the value is added to each o
     * with its query's weight. */
    (void)all, (void)key, (void)value, (void)scale, (void)from;
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

/** Warp (head, QUERIES queries of this rank): attention to the keys of one part, merged with what out and lse hold of others. */
__global__ void __launch_bounds__(THREADS) ring_kernel(struct ring_step s)
{
    // [student: ring_kernel]
    /* TODO: which head and queries are this warp's, and how many of these keys they see; see_key() for each; out and lse of these keys;
     * unless they are the first, merge() with what is there. */
    (void)s;
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
    /* TODO: whose keys are these? Launch ring_kernel, unless the mask hides all of them; then record `used`. */
    (void)rank, (void)ranks, (void)sizes, (void)part, (void)step;
    return KERNEL_OK;
    // [/student]
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

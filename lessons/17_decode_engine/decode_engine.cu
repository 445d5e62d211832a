// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 17: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 17                 judges what is there
 *     build/bin/warpwise check 17 --case NAME     looks at one case
 */
// [/student]
#include "decode_engine.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "engine_few.h"    // attention of few rows
#include "engine_many.h"   // products of many rows
#include "engine_merge.h"  // parts of attention become one
#include "engine_parts.h"  // sizes, buffers, the arguments of a product and of attention
#include "engine_prompt.h" // attention of many rows
#include "engine_wide.h"   // products of tiles of 128 rows
#include "kernel_launch.h"
#include "warp_matrix.h"
#include "warp_reduce.h"

/* ---- products with weights -------------------------------------------------------------------------------------- */

/** Points @p next at a lane's weights of span @p span of tile @p tile. Rows past the last one are the last one again. */
template <int KIND>
__device__ inline void find_weights(struct ahead *next, const struct product &p, int tile, int span)
{
    // [student: find_weights]
    /* TODO: low and high: columns 8 t .. 8 t + 7 of the span, of the lane's two rows; and tile and span. The slot stays. */
    (void)next, (void)p, (void)tile, (void)span;
    // [/student]
}

/** Starts to copy the next span of the warp's weights, and moves on. The warp's slice is spans @p begin to @p end - 1; after its last one
 * comes the first of the block's next tile, if there is one. */
template <int KIND, int ROWS>
__device__ inline void ask_weights(struct ahead *next, uint4 (*slots)[2][WARP], const struct product &p,
                                   int begin, int end)
{
    // [student: ask_weights]
    /* TODO: copy_once() of both rows to the lane's place in the slot, and __pipeline_commit(); then the next span. */
    (void)next, (void)slots, (void)p, (void)begin, (void)end;
    // [/student]
}

/** Loads a lane's inputs of ROWS rows: CHUNK spans from @p first on. Zeros stand for rows that do not exist, and for spans from @p end on. */
template <int KIND, int ROWS>
__device__ inline void load_inputs(struct inputs<KIND> *in, const struct product &p, int first_row, int first,
                                   int end)
{
    // [student: load_inputs]
    /* TODO: elements 4 lane .. 4 lane + 3 of the chunk, of each row, and their gains. */
    (void)in, (void)p, (void)first_row, (void)first, (void)end;
    // [/student]
}

/** 1 / rms of row @p first_row + lane % ROWS. Each warp adds the squares of its slice, spans @p begin to @p end - 1, whose first chunks
 * are in @p in: AHEAD of them for a single row, else one. Then slices are added. */
template <int KIND, int ROWS>
__device__ inline float find_factor(const struct inputs<KIND> *in, const struct product &p, int first_row,
                                    int begin, int end)
{
    // [student: find_factor]
    /* TODO: the sum of squares of the slice for each row, by the warp; then the slices through shared memory, in order. */
    (void)in, (void)p, (void)first_row, (void)begin, (void)end;
    return 1.0f;
    // [/student]
}

/** Stages a chunk for the warp as halves: for TO_STATE as they are, else times factor and gain. Lane i has the factor of row i. */
template <int KIND, int ROWS>
__device__ inline void stage_inputs(__half (*staged)[STAGED], const struct inputs<KIND> &in, float factor)
{
    // [student: stage_inputs]
    /* TODO: of TO_STATE the halves as they are; else x times the row's factor times gain, rounded to halves. */
    (void)staged, (void)in, (void)factor;
    // [/student]
}

/** Writes what becomes of a sum. For TO_GATED there are two @p sums, of gate and of up; TO_STATE adds to @p before. */
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums,
                                    float before)
{
    // [student: write_output]
    /* TODO: by kind: store, add, or silu(gate) * up. */
    (void)p, (void)row, (void)output, (void)sums, (void)before;
    // [/student]
}

/** Every warp sums its slice of the inputs, for 16 rows of weights and ROWS rows of the batch; then slices are added. */
template <int KIND, int ROWS> __global__ void __launch_bounds__(THREADS, 2) product_kernel(struct product p)
{
    // [student: product_kernel]
    /* TODO: ask for weights until all slots are taken; wait_for_kernel_before(); load the first inputs, find the factors of the
     * norm. For each tile of outputs: go through the warp's slice in chunks, two multiply_add() for each span, and fill each slot
     * again once it was used; then add the warps' sums in shared memory, in their order. */
    (void)p;
    // [/student]
}

/** A block for every 16 rows of weights, up to what the GPU runs at once, and for every tile of rows, or a single row. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    // [student: launch_product]
    /* TODO: more than BATCH rows to launch_many(); else blocks for all outputs, no more than run at once, and for all rows; the
     * slots' shared memory; of TO_GATED a block has 8 rows of gate and 8 of up. A single row has a kernel of its own if
     * single_row_fits(). */
    (void)p, (void)stream;
    return KERNEL_OK;
    // [/student]
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/** Gains and angles of the lane's pairs: element d is rotated by position * rope_base^(-2 d / head_dim). */
__device__ inline void find_turn(struct turn *turn, const __half *gain, const struct engine_config &c,
                                 int position)
{
    // [student: find_turn]
    /* TODO: for the pairs d = lane and lane + 32 below head_dim / 2: both gains, sine and cosine. */
    (void)turn, (void)gain, (void)c, (void)position;
    // [/student]
}

/** A warp: @p to = rope(norm(@p head) * gain), [head_dim]. */
__device__ inline void norm_and_rotate(__half *to, const float *head, const struct turn &turn,
                                       const struct engine_config &c)
{
    // [student: norm_and_rotate]
    /* TODO: the sum of squares of the head; then pairs (d, d + head_dim / 2), turned by their angle. */
    (void)to, (void)head, (void)turn, (void)c;
    // [/student]
}

/** Block (8 heads, row): a warp for each head; q and k are normalised and rotated, k and v go to the cache. */
__global__ void append_kernel(struct layer_attention a)
{
    // [student: append_kernel]
    /* TODO: query heads, then key heads, then value heads; a row that pads does nothing. What no kernel writes is read before
     * wait_for_kernel_before(). */
    (void)a;
    // [/student]
}

/** A tile of keys of load_keys(), of which each of ROWS rows has @p count (it may be more than KEYS): LANES lanes share a key, eight elements
 * each; for a row each group of lanes has an online softmax of its own: maximum @p m, sum of weights @p l, weighted values @p sums. */
template <int LANES, int ROWS>
__device__ inline void take_keys(float m[ROWS], float l[ROWS], float (*sums)[8], const float (*q)[8],
                                 const uint4 *k, const uint4 *v, const int count[ROWS])
{
    // [student: take_keys]
    /* TODO: q . k / sqrt(head_dim), added up over the lanes of the group; the new maximum; weights and weighted values. */
    (void)m, (void)l, (void)sums, (void)q, (void)k, (void)v, (void)count;
    // [/student]
}

/** A walker's softmax over its tiles, to @p part: maximum, sum of weights, sums of values. @p cached: find_key() of its first tile. */
template <int LANES>
__device__ inline void walk_keys(float *part, const struct layer_attention &a, int walker, int keys,
                                 int cached)
{
    // [student: walk_keys]
    /* TODO: the query; every LANES-th tile of keys; merge_groups(). */
    (void)part, (void)a, (void)walker, (void)keys, (void)cached;
    // [/student]
}

/** Block (head, row, walker): each of LANES walkers takes every LANES-th tile of keys. Where rows are many, one block does all walkers. */
template <int LANES> __global__ void __launch_bounds__(THREADS, 2) attend_kernel(struct layer_attention a)
{
    // [student: attend_kernel]
    /* TODO: position + 1 keys, walked by LANES walkers at most; where several blocks walk, the last one merges. A row
     * that pads has no keys, and 0 comes out. */
    (void)a;
    // [/student]
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/** Block (row): x = the embedding of the row's token; zeros for a row that pads. */
__global__ void embed_kernel(struct engine_config c, struct engine_batch batch, const __half *embedding,
                             float *x, unsigned int *arrived)
{
    // [student: embed_kernel]
    /* TODO: the row of this block; a row whose position is negative has no token. In the first SPREAD_ROWS rows also set the
     * counts of walkers, arrived[row * heads + head], to 0. */
    (void)c, (void)batch, (void)embedding, (void)x, (void)arrived;
    // [/student]
}

/** Launches layer @p index: it appends to the cache and updates x. */
static enum kernel_status launch_layer(const struct engine_model *model, const struct engine_batch *batch,
                                       const struct engine_buffers *b, int index, cudaStream_t stream)
{
    // [student: layer]
    /* TODO: four products, and between the first two launch_few() or the append and attention; each behind the one before. */
    (void)model, (void)batch, (void)b, (void)index, (void)stream;
    return KERNEL_OK;
    // [/student]
}

size_t engine_workspace_bytes(const struct engine_config *config)
{
    if (config == NULL || !engine_config_fits(config)) return 0;
    // [student: workspace_bytes]
    /* TODO: the bytes of what place_buffers() lays out, or of what you lay out instead. */
    return 0;
    // [/student]
}

enum kernel_status engine_step(const struct engine_model *model, const struct engine_batch *batch,
                               cudaStream_t stream)
{
    const size_t needed = model == NULL ? 0 : engine_workspace_bytes(&model->config);
    enum kernel_status status = engine_check(model, batch, needed);
    if (status != KERNEL_OK) return status;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    // [student: step]
    /* TODO: place the buffers; embed; every layer; then the logits of the wanted rows, if there are any. */
    (void)stream, (void)launch_layer;
    return KERNEL_NOT_STARTED;
    // [/student]
}

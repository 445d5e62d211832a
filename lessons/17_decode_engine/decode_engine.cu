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

#include "engine_parts.h" // buffers, what a product and an attention are told
#include "kernel_launch.h"
#include "warp_matrix.h"
#include "warp_reduce.h"

enum {
    WARP = 32,
    WARPS = 8, // of a block
    THREADS = WARPS * WARP,
    OUTPUTS = 16,  // rows of weights that a block multiplies: A has so many rows
    TILE = 8,      // rows of the batch in an instruction: B has so many columns
    MANY = 4,      // tiles of a block where there are more rows than one tile has
    SPAN = 32,     // inputs that four lanes load at once
    AHEAD = 4,     // spans whose weights are under way
    KEYS = THREADS // of a tile of attention
};

/** Weights of AHEAD spans: eight of each of the two rows that are this lane's. */
struct ahead {
    uint4 low[AHEAD], high[AHEAD];
};

// In the order of their calls: what a step launches, and what blocks do.
__global__ void embed_kernel(struct engine_config c, struct engine_batch batch, const __half *embedding,
                             float *x);
static enum kernel_status launch_layer(const struct engine_model *model, const struct engine_batch *batch,
                                       const struct engine_buffers *b, int index, cudaStream_t stream);
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream);
template <int KIND, int TILES> __global__ void product_kernel(struct product p);
template <int KIND>
__device__ inline void ask_weights(struct ahead *next, const struct product &p, int first, int end);
__device__ inline int row_of_x(const struct product &p, int row);
__device__ inline void find_factors(float *factors, const struct product &p, int first_row, int count);
template <int KIND>
__device__ inline void take_inputs(uint32_t h[4], const struct product &p, int row, int at, float factor);
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums);
__global__ void append_kernel(struct layer_attention a);
__device__ inline void norm_and_rotate(__half *to, const float *head, const __half *gain,
                                       const struct engine_config &c, int position);
template <int LANES> __global__ void attend_kernel(struct layer_attention a);
template <int LANES>
__device__ inline void score_keys(float *scores, const float q[8], const struct layer_attention &a, int first,
                                  int count);
template <int LANES>
__device__ inline void add_values(float sums[8], const float *weights, const struct layer_attention &a,
                                  int first, int count);
__device__ inline float block_max(float x, float *slots);
__device__ inline float block_sum(float x, float *slots);

/* ---- a step ----------------------------------------------------------------------------------------------------- */

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

/** Block (row): x = the embedding of the row's token; of a row that pads, zeros. */
__global__ void embed_kernel(struct engine_config c, struct engine_batch batch, const __half *embedding,
                             float *x)
{
    // [student: embed_kernel]
    /* TODO: the row of this block; a row whose position is negative has no token. */
    (void)c, (void)batch, (void)embedding, (void)x;
    // [/student]
}

/** Layer @p index: appends to the cache, changes x. */
static enum kernel_status launch_layer(const struct engine_model *model, const struct engine_batch *batch,
                                       const struct engine_buffers *b, int index, cudaStream_t stream)
{
    // [student: layer]
    /* TODO: four products, and between the first two the append and attention; each behind the one before. */
    (void)model, (void)batch, (void)b, (void)index, (void)stream;
    return KERNEL_OK;
    // [/student]
}

/* ---- products with weights -------------------------------------------------------------------------------------- */

/** A block for every 16 rows of weights, and every tile of rows of the batch, or MANY tiles. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    // [student: launch_product]
    /* TODO: a grid for all outputs and rows; of TO_GATED a block has 8 rows of gate and 8 of up. */
    (void)p, (void)stream;
    return KERNEL_OK;
    // [/student]
}

/** Every warp sums its slice of the inputs, for 16 rows of weights and TILES * 8 rows of the batch; then slices are added. */
template <int KIND, int TILES> __global__ void __launch_bounds__(THREADS) product_kernel(struct product p)
{
    // [student: product_kernel]
    /* TODO: ask for the first weights; wait_for_kernel_before(); the factors of the norm, and a barrier; the warp's slice of the
     * inputs, two multiply_add() for each span and tile; the warps' sums through shared memory, added in their order. */
    (void)p;
    // [/student]
}

/** Asks for the weights of spans @p first .. @p end - 1, AHEAD at most. Rows past the last one are the last one again. */
template <int KIND>
__device__ inline void ask_weights(struct ahead *next, const struct product &p, int first, int end)
{
    // [student: ask_weights]
    /* TODO: 16 bytes of each of the lane's two rows, from input 8 t of the span on. */
    (void)next, (void)p, (void)first, (void)end;
    // [/student]
}

/** The row of x that row @p row of a product takes; -1 if there is none. */
__device__ inline int row_of_x(const struct product &p, int row)
{
    if (row >= p.rows) return -1;
    return p.wanted == NULL ? row : max(p.wanted[row], -1);
}

/** factors[i] = 1 / rms of row first_row + i, for i below @p count; a warp for each row. */
__device__ inline void find_factors(float *factors, const struct product &p, int first_row, int count)
{
    // [student: find_factors]
    /* TODO: the sum of squares of a row, by a warp; lane 0 writes the factor. */
    (void)factors, (void)p, (void)first_row, (void)count;
    // [/student]
}

/** Eight inputs of row @p row from @p at on, as four registers of two halves; zeros where there is no such row. */
template <int KIND>
__device__ inline void take_inputs(uint32_t h[4], const struct product &p, int row, int at, float factor)
{
    // [student: take_inputs]
    /* TODO: of TO_STATE the halves as they are; else x times factor times gain, rounded to halves. */
    (void)p, (void)row, (void)at, (void)factor;
    h[0] = h[1] = h[2] = h[3] = 0;
    // [/student]
}

/** What becomes of a sum; of TO_GATED @p sums has two, of gate and of up. */
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums)
{
    // [student: write_output]
    /* TODO: by kind: store, add, or silu(gate) * up. Outputs and rows that are not there are not written. */
    (void)p, (void)row, (void)output, (void)sums;
    // [/student]
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/** A warp for each head of a row: q and k are normalised and rotated, k and v go to the cache. */
__global__ void append_kernel(struct layer_attention a)
{
    // [student: append_kernel]
    /* TODO: query heads, then key heads, then value heads; a row that pads does nothing. */
    (void)a;
    // [/student]
}

/** A warp: @p to = rope(norm(@p head) * gain), [head_dim]. */
__device__ inline void norm_and_rotate(__half *to, const float *head, const __half *gain,
                                       const struct engine_config &c, int position)
{
    // [student: norm_and_rotate]
    /* TODO: the sum of squares of the head; then pairs (d, d + head_dim / 2), turned by their angle. */
    (void)to, (void)head, (void)gain, (void)c, (void)position;
    // [/student]
}

/** A block for each head of a row. LANES lanes share a key, eight elements each; tiles of KEYS keys, online softmax. */
template <int LANES> __global__ void __launch_bounds__(THREADS) attend_kernel(struct layer_attention a)
{
    // [student: attend_kernel]
    /* TODO: position + 1 keys in tiles; scores, maximum, weights, their sum, values; then the groups' sums in their order. A row
     * that pads has no keys, and 0 comes out. */
    (void)a;
    // [/student]
}

/** Scores of @p count keys from position @p first on; groups of LANES lanes take keys in turn. */
template <int LANES>
__device__ inline void score_keys(float *scores, const float q[8], const struct layer_attention &a, int first,
                                  int count)
{
    // [student: score_keys]
    /* TODO: q . k / sqrt(head_dim), added up over the lanes of the group. */
    (void)scores, (void)q, (void)a, (void)first, (void)count;
    // [/student]
}

/** Adds the values of @p count keys from position @p first on, each times its weight; groups take keys in turn. */
template <int LANES>
__device__ inline void add_values(float sums[8], const float *weights, const struct layer_attention &a,
                                  int first, int count)
{
    // [student: add_values]
    /* TODO: eight columns of every key of this group. */
    (void)sums, (void)weights, (void)a, (void)first, (void)count;
    // [/student]
}

/** The largest @p x of the block, in every thread. A shuffle reaches one warp only: slots carry it to the others. */
__device__ inline float block_max(float x, float *slots) // [WARPS]
{
    // [student: block_max]
    /* TODO: the maximum of each warp to its slot; a barrier; every thread reads all slots. */
    (void)slots;
    return x;
    // [/student]
}

/** The sum of @p x over the block, in every thread. */
__device__ inline float block_sum(float x, float *slots) // [WARPS]
{
    // [student: block_sum]
    /* TODO: the same with a sum. */
    (void)slots;
    return x;
    // [/student]
}

// [student: head]
/*
 * A decoder's step: six kernels per layer, five if it has one row or two. Every product with weights goes to the tensor cores,
 * also that of a single token: the 16 rows of A are outputs of the weights, the 8 columns of B are rows of the batch. So weights,
 * which are nearly all of the bytes, are loaded once for eight rows.
 *
 *      lane (g, t)   weights  row g, row g + 8    | 8 t .. 8 t + 7 |  16 bytes of each: two instructions' worth
 *                    x        row g of the batch  | 8 t .. 8 t + 7 |  the same columns, so any order of them will do
 *
 * Shared memory holds a dozen spans of weights that each lane has asked for, for itself alone, before the preceding kernel is
 * over: between kernels the memory does not rest. A sum over `inputs` is cut into eight slices, one for each warp; slices are
 * added from the first to the last. No step of that depends on how many rows there are: batched equals alone, bit for bit.
 * Run:    build/bin/warpwise check 17 --kernel solutions/17_decode_engine/decode_engine.cu
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
    const int lane = (int)threadIdx.x % WARP, width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS;
    const int last = p.outputs - 1, low = min(tile * width + lane / 4, last);
    const int high = KIND == TO_GATED ? p.outputs + low : min(tile * width + lane / 4 + 8, last);
    next->low = p.weights + (size_t)low * (size_t)p.inputs + (size_t)(span * SPAN + lane % 4 * 8);
    next->high = p.weights + (size_t)high * (size_t)p.inputs + (size_t)(span * SPAN + lane % 4 * 8);
    next->span = span;
    next->tile = tile;
    // [/student]
}

/** Starts to copy the next span of the warp's weights, and moves on. The warp's slice is spans @p begin to @p end - 1; after its last one
 * comes the first of the block's next tile, if there is one. */
template <int KIND, int ROWS>
__device__ inline void ask_weights(struct ahead *next, uint4 (*slots)[2][WARP], const struct product &p,
                                   int begin, int end)
{
    // [student: ask_weights]
    const int lane = (int)threadIdx.x % WARP, width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS;
    if (begin < end && next->tile * width < p.outputs) {
        copy_once(&slots[next->slot][0][lane], next->low);
        copy_once(&slots[next->slot][1][lane], next->high);
        next->slot = next->slot + 1 < (ROWS == 1 ? SLOTS : TILE_SLOTS) ? next->slot + 1 : 0;
        next->low += SPAN, next->high += SPAN;
        if (++next->span >= end) find_weights<KIND>(next, p, next->tile + (int)gridDim.x, begin);
    }
    __pipeline_commit(); // an empty group, too: the wait counts spans
    // [/student]
}

/** Loads a lane's inputs of ROWS rows: CHUNK spans from @p first on. Zeros stand for rows that do not exist, and for spans from @p end on. */
template <int KIND, int ROWS>
__device__ inline void load_inputs(struct inputs<KIND> *in, const struct product &p, int first_row, int first,
                                   int end)
{
    // [student: load_inputs]
    const int at = first * SPAN + (int)threadIdx.x % WARP * 4;
    const bool inside = at < end * SPAN; // a lane may be past the end
    if constexpr (KIND != TO_STATE) in->gain = inside ? *(const uint2 *)(p.gain + at) : make_uint2(0, 0);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const int row = row_of_x<KIND>(p, first_row + i);
        const size_t place = (size_t)max(row, 0) * (size_t)p.inputs + (size_t)at;
        in->x[i] = {};
        if constexpr (KIND == TO_STATE) {
            if (inside && row >= 0) in->x[i] = *(const uint2 *)((const __half *)p.x + place);
        } else {
            if (inside && row >= 0) in->x[i] = *(const float4 *)((const float *)p.x + place);
        }
    }
    // [/student]
}

/** 1 / rms of row @p first_row + lane % ROWS. Each warp adds the squares of its slice, spans @p begin to @p end - 1, whose first chunks
 * are in @p in: AHEAD of them for a single row, else one. Then slices are added. */
template <int KIND, int ROWS>
__device__ inline float find_factor(const struct inputs<KIND> *in, const struct product &p, int first_row,
                                    int begin, int end)
{
    // [student: find_factor]
    __shared__ float squares[WARPS][ROWS];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const float share = 1.0f / (float)p.inputs;
    enum { LOADED = ROWS == 1 ? AHEAD : 1 };
    float sums[ROWS] = {};
#pragma unroll
    for (int c = 0; c < LOADED; c++)
        if (begin + c * CHUNK < end) add_squares<KIND, ROWS>(sums, in[c]);
    for (int first = begin + LOADED * CHUNK; first < end; first += CHUNK) {
        struct inputs<KIND> now;
        load_inputs<KIND, ROWS>(&now, p, first_row, first, end);
        add_squares<KIND, ROWS>(sums, now);
    }
    warp_sum<ROWS>(sums);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        if (lane == i) squares[warp][i] = sums[i];
    __syncthreads(); // the squares of all slices are there
    float sum = 0.0f;
    for (int w = 0; w < WARPS; w++) sum += squares[w][lane % ROWS];
    return rsqrtf(fmaf(sum, share, p.epsilon));
    // [/student]
}

/** Stages a chunk for the warp as halves: for TO_STATE as they are, else times factor and gain. Lane i has the factor of row i. */
template <int KIND, int ROWS>
__device__ inline void stage_inputs(__half (*staged)[STAGED], const struct inputs<KIND> &in, float factor)
{
    // [student: stage_inputs]
    const int column = (int)threadIdx.x % WARP * 4;
    float gain[4];
    if constexpr (KIND != TO_STATE) load_four(gain, (const __half *)&in.gain);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint2 halves;
        if constexpr (KIND == TO_STATE) {
            halves = in.x[i];
        } else {
            const float4 x = in.x[i];
            const float of_row = __shfl_sync(0xffffffffu, factor, i);
            halves.x = pack_elements<__half>(x.x * of_row * gain[0], x.y * of_row * gain[1]);
            halves.y = pack_elements<__half>(x.z * of_row * gain[2], x.w * of_row * gain[3]);
        }
        *(uint2 *)&staged[i][column] = halves;
    }
    // [/student]
}

/** Writes what becomes of a sum. For TO_GATED there are two @p sums, of gate and of up; TO_STATE adds to @p before. */
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums,
                                    float before)
{
    // [student: write_output]
    const size_t at = (size_t)row * (size_t)p.outputs + (size_t)output;
    if (KIND == TO_QKV || KIND == TO_LOGITS) ((float *)p.out)[at] = sums[0];
    if (KIND == TO_STATE) ((float *)p.out)[at] = before + sums[0];
    if (KIND == TO_GATED) ((__half *)p.out)[at] = __float2half(sums[0] / (1.0f + __expf(-sums[0])) * sums[1]);
    // [/student]
}

/** Every warp sums its slice of the inputs, for 16 rows of weights and ROWS rows of the batch; then slices are added. */
template <int KIND, int ROWS> __global__ void __launch_bounds__(THREADS, 2) product_kernel(struct product p)
{
    // [student: product_kernel]
    enum { USED = ROWS == 1 ? SLOTS : TILE_SLOTS, LOADED = ROWS == 1 ? AHEAD : 1 };
    extern __shared__ uint4 weights[];
    __shared__ alignas(16) __half staged[WARPS][ROWS][STAGED];
    __shared__ float parts[2][WARPS][ROWS][OUTPUTS];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, g = lane / 4, t = lane % 4;
    const int width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS, tiles = divide_up(p.outputs, width);
    const int first_row = (int)blockIdx.y * ROWS, spans = p.inputs / SPAN;
    const int begin = warp * spans / WARPS, end = (warp + 1) * spans / WARPS;
    uint4(*const slots)[2][WARP] = (uint4(*)[2][WARP])(weights + warp * (USED * 2 * WARP));
    struct ahead next = {};
    struct inputs<KIND> in[LOADED]; // the next chunks
    float factor = 1.0f;
    const bool resident = ROWS == 1 && end - begin <= CHUNK; // one chunk: staged once, for all tiles
    int ahead = begin;                                       // the chunk to be loaded next
    int slot = 0, which = 0; // of parts: one is added while the other is written
    let_next_start();
    find_weights<KIND>(&next, p, (int)blockIdx.x, begin);
#pragma unroll 1
    for (int i = 0; i < USED; i++) // no kernel writes weights: they need not wait
        ask_weights<KIND, ROWS>(&next, slots, p, begin, end);
    wait_for_kernel_before();
#pragma unroll
    for (int i = 0; i < LOADED; i++) {
        load_inputs<KIND, ROWS>(&in[i], p, first_row, resident && i > 0 ? end : ahead, end);
        ahead = ahead + CHUNK < end ? ahead + CHUNK : begin;
    }
    if constexpr (KIND != TO_STATE) factor = find_factor<KIND, ROWS>(in, p, first_row, begin, end);
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        // What this thread writes.
        const int row = (int)threadIdx.x / width, output = tile * width + (int)threadIdx.x % width;
        const bool writes = row < ROWS && output < p.outputs && row_of_x<KIND>(p, first_row + row) >= 0;
        float c[2][4] = {}, before = 0.0f;
        if (KIND == TO_STATE && writes)
            before = ((const float *)p.out)[(size_t)(first_row + row) * (size_t)p.outputs + (size_t)output];
        for (int first = begin; first < end; first += CHUNK) {
            if (!resident || tile == (int)blockIdx.x) stage_inputs<KIND, ROWS>(staged[warp], in[0], factor);
            __syncwarp(); // the inputs of all lanes are there
            if (!resident) {
#pragma unroll
                for (int i = 1; i < LOADED; i++) in[i - 1] = in[i];
                if (first + LOADED * CHUNK < end || tile + (int)gridDim.x < tiles)
                    load_inputs<KIND, ROWS>(&in[LOADED - 1], p, first_row, ahead, end);
                ahead = ahead + CHUNK < end ? ahead + CHUNK : begin;
            }
            __pipeline_wait_prior(USED - CHUNK); // so are this lane's weights of the chunk
#pragma unroll
            for (int i = 0; i < CHUNK; i++) {
                if (first + i >= end) break; // whole warps
                const int at = slot + i < USED ? slot + i : slot + i - USED;
                const uint4 low = slots[at][0][lane], high = slots[at][1][lane];
                const uint32_t a[4] = {low.x, high.x, low.y, high.y},
                               a_next[4] = {low.z, high.z, low.w, high.w};
                const uint4 h = *(const uint4 *)&staged[warp][g % ROWS][i * SPAN + 8 * t];
                multiply_add<__half>(c[0], a, h.x, h.y);
                multiply_add<__half>(c[1], a_next, h.z, h.w);
            }
            __syncwarp(); // all have used them before the next ones replace them
            const int count = min(end - first, (int)CHUNK);
#pragma unroll 1
            for (int i = 0; i < count; i++) ask_weights<KIND, ROWS>(&next, slots, p, begin, end);
            slot = slot + count < USED ? slot + count : slot + count - USED;
        }
        for (int i = 0; i < 4; i++)
            if (2 * t + i % 2 < ROWS) parts[which][warp][2 * t + i % 2][g + i / 2 * 8] = c[0][i] + c[1][i];
        __syncthreads(); // what every warp found is there
        if (writes) {
            float sums[2] = {0.0f, 0.0f}; // for TO_GATED those of gate and up
            for (int i = 0; i < WARPS; i++) {
                sums[0] += parts[which][i][row][threadIdx.x % width];
                if (KIND == TO_GATED) sums[1] += parts[which][i][row][threadIdx.x % width + width];
            }
            write_output<KIND>(p, first_row + row, output, sums, before);
        }
        which = 1 - which;
    }
    // [/student]
}

/** A block for every 16 rows of weights, up to what the GPU runs at once, and for every tile of rows, or a single row. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    // [student: launch_product]
    if (p.rows > BATCH) return launch_many<KIND>(p, stream);
    const int width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS, tiles = divide_up(p.outputs, width);
    const bool single = p.rows == 1 && single_row_fits();
    const int slots = single ? SLOTS : TILE_SLOTS, of_rows = divide_up(p.rows, TILE);
    const int sms = max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    const int spans = divide_up(tiles, sms) * divide_up(p.inputs, SPAN * WARPS);
    // One block per SM if all its weights fit its slots: then they are under way at once.
    const int at_once = (spans <= slots ? 1 : BLOCKS_PER_SM) * sms / of_rows;
    const dim3 grid(min(tiles, max(at_once, 1)), of_rows);
    void (*const kernel)(struct product) = single ? product_kernel<KIND, 1> : product_kernel<KIND, TILE>;
    const size_t shared = sizeof(uint4) * 2 * WARP * WARPS * slots;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(shared, kernel, grid, THREADS, stream, p);
    // [/student]
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/** Gains and angles of the lane's pairs: element d is rotated by position * rope_base^(-2 d / head_dim). */
__device__ inline void find_turn(struct turn *turn, const __half *gain, const struct engine_config &c,
                                 int position)
{
    // [student: find_turn]
    const int lane = (int)threadIdx.x % WARP, half_dim = c.head_dim / 2;
    for (int i = 0; i < 2; i++) {
        const int d = lane + i * WARP;
        if (d >= half_dim) break;
        turn->low_gain[i] = __half2float(gain[d]);
        turn->high_gain[i] = __half2float(gain[d + half_dim]);
        sincosf((float)position * powf(c.rope_base, -(float)d / (float)half_dim), &turn->sine[i],
                &turn->cosine[i]);
    }
    // [/student]
}

/** A warp: @p to = rope(norm(@p head) * gain), [head_dim]. */
__device__ inline void norm_and_rotate(__half *to, const float *head, const struct turn &turn,
                                       const struct engine_config &c)
{
    // [student: norm_and_rotate]
    const int lane = (int)threadIdx.x % WARP, half_dim = c.head_dim / 2;
    float low[2], high[2], sum[1] = {0.0f};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int d = lane + i * WARP;
        low[i] = d < half_dim ? head[d] : 0.0f;
        high[i] = d < half_dim ? head[d + half_dim] : 0.0f;
        sum[0] = fmaf(low[i], low[i], fmaf(high[i], high[i], sum[0]));
    }
    warp_sum<1>(sum);
    const float factor = rsqrtf(sum[0] / (float)c.head_dim + c.epsilon);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int d = lane + i * WARP;
        if (d >= half_dim) break;
        low[i] *= factor * turn.low_gain[i];
        high[i] *= factor * turn.high_gain[i];
        to[d] = __float2half(low[i] * turn.cosine[i] - high[i] * turn.sine[i]);
        to[d + half_dim] = __float2half(high[i] * turn.cosine[i] + low[i] * turn.sine[i]);
    }
    // [/student]
}

/** Block (8 heads, row): a warp for each head; q and k are normalised and rotated, k and v go to the cache. */
__global__ void append_kernel(struct layer_attention a)
{
    // [student: append_kernel]
    const struct engine_config &c = a.config;
    const int row = (int)blockIdx.y, head = (int)(blockIdx.x * WARPS + threadIdx.x / WARP);
    const int heads = c.heads + 2 * c.kv_heads, position = a.positions[row];
    const size_t dim = (size_t)c.head_dim;
    let_next_start();
    if (head >= heads || position < 0) { // whole warps
        wait_for_kernel_before();        // later kernels rely on it
        return;
    }
    const bool is_query = head < c.heads, is_key = !is_query && head < c.heads + c.kv_heads;
    __half *to = a.q + ((size_t)row * (size_t)c.heads + (size_t)head) * dim;
    if (!is_query)
        to = (is_key ? a.keys : a.values) + cache_place(a, row, position) +
             (size_t)((head - c.heads) % c.kv_heads) * dim;
    struct turn turn;
    if (is_query || is_key) find_turn(&turn, is_query ? a.q_norm : a.k_norm, c, position);
    wait_for_kernel_before(); // so far nothing was read that a kernel writes
    const float *from = a.qkv + ((size_t)row * (size_t)heads + (size_t)head) * dim;
    if (is_query || is_key)
        norm_and_rotate(to, from, turn, c);
    else
        for (int d = (int)threadIdx.x % WARP; d < c.head_dim; d += WARP) to[d] = __float2half(from[d]);
    // [/student]
}

/** A tile of keys of load_keys(), of which each of ROWS rows has @p count (it may be more than KEYS): LANES lanes share a key, eight elements
 * each; for a row each group of lanes has an online softmax of its own: maximum @p m, sum of weights @p l, weighted values @p sums. */
template <int LANES, int ROWS>
__device__ inline void take_keys(float m[ROWS], float l[ROWS], float (*sums)[8], const float (*q)[8],
                                 const uint4 *k, const uint4 *v, const int count[ROWS])
{
    // [student: take_keys]
    enum { GROUPS = WARP / LANES, AT_ONCE = OF_WARP / GROUPS };
    const int lane = (int)threadIdx.x % WARP, mine = (int)threadIdx.x / WARP * OF_WARP + lane / LANES;
    const int own = mine + lane % LANES * AT_ONCE / LANES * GROUPS; // the key whose score it will have
    float scores[ROWS][AT_ONCE] = {};
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        float of_key[8];
        load_eight(of_key, (const __half *)&k[i]);
        for (int r = 0; r < ROWS; r++)
            for (int e = 0; e < 8; e++) scores[r][i] = fmaf(q[r][e], of_key[e], scores[r][i]);
    }
    for (int r = 0; r < ROWS; r++) {
        float score = scatter_sums<AT_ONCE, LANES>(scores[r]); // every lane shuffles, also for no key
        score = own < count[r] ? score * rsqrtf((float)(LANES * 8)) : -INFINITY;
        const float most = fmaxf(m[r], max_of_scattered<AT_ONCE, LANES>(score));
        const float base = most == -INFINITY ? 0.0f : most, correction = __expf(m[r] - base);
        gather<AT_ONCE, LANES>(scores[r], __expf(score - base)); // weights now
        m[r] = most, l[r] *= correction;
        for (int e = 0; e < 8; e++) sums[r][e] *= correction;
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        float of_value[8];
        load_eight(of_value, (const __half *)&v[i]);
        for (int r = 0; r < ROWS; r++) {
            if (mine + i * GROUPS >= count[r]) continue;
            l[r] += scores[r][i];
            for (int e = 0; e < 8; e++) sums[r][e] = fmaf(scores[r][i], of_value[e], sums[r][e]);
        }
    }
    // [/student]
}

/** A walker's softmax over its tiles, to @p part: maximum, sum of weights, sums of values. @p cached: find_key() of its first tile. */
template <int LANES>
__device__ inline void walk_keys(float *part, const struct layer_attention &a, int walker, int keys,
                                 int cached)
{
    // [student: walk_keys]
    const size_t place = (size_t)blockIdx.y * (size_t)a.config.heads + blockIdx.x;
    float q[1][8], sums[1][8] = {{0.0f}}, m = -INFINITY, l = 0.0f;
    load_eight(q[0], a.q + place * (LANES * 8) + threadIdx.x % LANES * 8);
    for (int first = walker * KEYS; first < keys; first += LANES * KEYS) {
        const int now = cached, left = keys - first;
        uint4 k[OF_WARP * LANES / WARP], v[OF_WARP * LANES / WARP];
        if (first + LANES * KEYS < keys) cached = find_key(a, first + LANES * KEYS, keys);
        load_keys<LANES>(k, v, a, now);
        take_keys<LANES, 1>(&m, &l, sums, q, k, v, &left);
    }
    merge_groups<LANES>(part, m, l, sums[0]);
    // [/student]
}

/** Block (head, row, walker): each of LANES walkers takes every LANES-th tile of keys. Where rows are many, one block does all walkers. */
template <int LANES> __global__ void __launch_bounds__(THREADS, 2) attend_kernel(struct layer_attention a)
{
    // [student: attend_kernel]
    enum { PART = LANES * 8 + 2 };
    __shared__ float own[LANES * PART];
    const int row = (int)blockIdx.y, keys = max(a.positions[row] + 1, 0); // read in each replay
    const int walkers = min(divide_up(keys, (int)KEYS), LANES);
    const size_t place = (size_t)row * (size_t)a.config.heads + blockIdx.x;
    const bool others = gridDim.z > 1 && walkers > 1;
    float *const parts = others ? a.parts + place * (LANES * PART) : own;
    let_next_start();
    if (blockIdx.z > 0 && (int)blockIdx.z >= walkers) return;
    int cached = keys > 0 ? find_key(a, (int)blockIdx.z * KEYS, keys) : 0; // no kernel writes tables
    wait_for_kernel_before();
    for (int walker = (int)blockIdx.z; walker < walkers; walker += (int)gridDim.z) {
        walk_keys<LANES>(parts + walker * PART, a, walker, keys, cached);
        if (walker + 1 < walkers) cached = find_key(a, (walker + 1) * KEYS, keys);
    }
    if (others && !is_last(a.arrived + place, walkers)) return;
    merge_parts<LANES>(a.attended + place * (LANES * 8), parts, walkers);
    // [/student]
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/** Block (row): x = the embedding of the row's token; zeros for a row that pads. */
__global__ void embed_kernel(struct engine_config c, struct engine_batch batch, const __half *embedding,
                             float *x, unsigned int *arrived)
{
    // [student: embed_kernel]
    const size_t row = blockIdx.x, hidden = (size_t)c.hidden;
    const bool pads = batch.positions[row] < 0;
    const __half *from = embedding + (pads ? 0 : (size_t)batch.tokens[row]) * hidden;
    let_next_start();
    if (row < SPREAD_ROWS)
        for (int i = (int)threadIdx.x; i < c.heads; i += THREADS)
            arrived[row * (size_t)c.heads + (size_t)i] = 0;
    for (size_t i = threadIdx.x; i < hidden; i += THREADS)
        x[row * hidden + i] = pads ? 0.0f : __half2float(from[i]);
    // [/student]
}

/** Launches layer @p index: it appends to the cache and updates x. */
static enum kernel_status launch_layer(const struct engine_model *model, const struct engine_batch *batch,
                                       const struct engine_buffers *b, int index, cudaStream_t stream)
{
    // [student: layer]
    const struct engine_config *c = &model->config;
    const struct engine_layer at = engine_layer_at(c, index);
    const __half *w = (const __half *)model->weights;
    const int q_width = (int)engine_q_width(c), heads = c->heads + 2 * c->kv_heads, rows = batch->rows;
    const size_t slice = engine_slice_elems(c);
    __half *keys = (__half *)model->cache + 2 * (size_t)index * slice;
    const struct layer_attention a = {.config = *c,
                                      .rows = rows,
                                      .positions = batch->positions,
                                      .requests = batch->requests,
                                      .tables = batch->tables,
                                      .qkv = b->qkv,
                                      .q_norm = w + at.q_norm,
                                      .k_norm = w + at.k_norm,
                                      .q = b->q,
                                      .keys = keys,
                                      .values = keys + slice,
                                      .attended = b->attended,
                                      .parts = b->parts,
                                      .arrived = b->arrived};
    const struct product qkv = {.weights = w + at.qkv,
                                .gain = w + at.input_norm,
                                .x = b->x,
                                .out = b->qkv,
                                .wanted = NULL,
                                .inputs = c->hidden,
                                .outputs = heads * c->head_dim,
                                .rows = rows,
                                .epsilon = c->epsilon,
                                .normed = b->normed};
    const struct product o = {.weights = w + at.o,
                              .gain = NULL,
                              .x = b->attended,
                              .out = b->x,
                              .wanted = NULL,
                              .inputs = q_width,
                              .outputs = c->hidden,
                              .rows = rows,
                              .epsilon = 0.0f,
                              .normed = NULL};
    const struct product gate = {.weights = w + at.gate_up,
                                 .gain = w + at.mlp_norm,
                                 .x = b->x,
                                 .out = b->gated,
                                 .wanted = NULL,
                                 .inputs = c->hidden,
                                 .outputs = c->intermediate,
                                 .rows = rows,
                                 .epsilon = c->epsilon,
                                 .normed = b->normed};
    struct product down = o;
    down.weights = w + at.down, down.x = b->gated, down.inputs = c->intermediate;
    const dim3 of_append(divide_up(heads, WARPS), rows),
        of_attend(c->heads, rows, rows <= SPREAD_ROWS ? c->head_dim / 8 : 1);
    const bool few = rows <= FEW_ROWS; // then one kernel does both
    const bool many = rows > BATCH;    // then blocks take several rows
    void (*const attend)(struct layer_attention) = c->head_dim == 32   ? attend_kernel<4>
                                                   : c->head_dim == 64 ? attend_kernel<8>
                                                                       : attend_kernel<16>;
    const struct engine_products *other = model->products;
    const bool other_attention = c->elsewhere & ENGINE_ATTENTION_ELSEWHERE;
    enum kernel_status status = other_attention ? other->qkv(other, index, rows, b->x, b->qkv, stream)
                                                : launch_product<TO_QKV>(qkv, stream);
    if (status == KERNEL_OK && few) status = launch_few(a, stream);
    if (status == KERNEL_OK && !few) status = launch_early(append_kernel, of_append, THREADS, stream, a);
    if (status == KERNEL_OK && !few && !many) status = launch_early(attend, of_attend, THREADS, stream, a);
    if (status == KERNEL_OK && many) status = launch_prompt(a, stream);
    if (status == KERNEL_OK)
        status = other_attention ? other->o(other, index, rows, b->attended, b->x, stream)
                                 : launch_product<TO_STATE>(o, stream);
    if (status == KERNEL_OK && c->elsewhere & ENGINE_MLP_ELSEWHERE)
        return other->mlp(other, index, rows, b->x, stream);
    if (status == KERNEL_OK) status = launch_product<TO_GATED>(gate, stream);
    return status == KERNEL_OK ? launch_product<TO_STATE>(down, stream) : status;
    // [/student]
}

size_t engine_workspace_bytes(const struct engine_config *config)
{
    if (config == NULL || !engine_config_fits(config)) return 0;
    // [student: workspace_bytes]
    return place_buffers(config, NULL).bytes;
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
    const struct engine_config *c = &model->config;
    const struct engine_buffers b = place_buffers(c, model->workspace);
    const __half *weights = (const __half *)model->weights;
    if (!leave_room(embed_kernel)) return KERNEL_CUDA_ERROR;
    embed_kernel<<<batch->rows, THREADS, 0, stream>>>(*c, *batch, weights, b.x, b.arrived);
    status = launch_status();
    for (int i = 0; i < c->layers && status == KERNEL_OK; i++)
        status = launch_layer(model, batch, &b, i, stream);
    if (status != KERNEL_OK || batch->wanted == 0) return status;
    const __half *head = weights + engine_head_at(c), *gain = weights + engine_last_norm_at(c);
    const struct product logits = {.weights = head,
                                   .gain = gain,
                                   .x = b.x,
                                   .out = batch->logits,
                                   .wanted = batch->wanted_rows,
                                   .inputs = c->hidden,
                                   .outputs = c->vocab,
                                   .rows = batch->wanted,
                                   .epsilon = c->epsilon,
                                   .normed = b.normed};
    return launch_product<TO_LOGITS>(logits, stream);
    // [/student]
}

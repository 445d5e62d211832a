// [student: head]
/*
 * A decoder's step in seven kernels, six of them once per layer. Every product with weights goes to the tensor cores, also that
 * of a single token: the 16 rows of A are outputs of the weights, the 8 columns of B are rows of the batch. So weights, which
 * are nearly all of the bytes, are loaded once for eight rows, straight into the registers that the instruction wants.
 *
 *      lane (g, t)   weights  row g, row g + 8    | 8 t .. 8 t + 7 |  16 bytes of each: two instructions' worth
 *                    x        row g of the batch  | 8 t .. 8 t + 7 |  the same columns, so any order of them will do
 *
 * A sum over `inputs` is cut into eight slices, one for each warp; slices are added from the first to the last. No step of
 * that depends on how many rows there are: batched equals alone, bit for bit.
 * Run:    build/bin/warpwise check 17 --kernel solutions/17_decode_engine/decode_engine.cu
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
    embed_kernel<<<batch->rows, THREADS, 0, stream>>>(*c, *batch, weights, b.x);
    status = launch_status();
    for (int i = 0; i < c->layers && status == KERNEL_OK; i++)
        status = launch_layer(model, batch, &b, i, stream);
    if (status != KERNEL_OK || batch->wanted == 0) return status;
    const __half *head = weights + engine_head_at(c), *gain = weights + engine_last_norm_at(c);
    const struct product logits = {head,      gain,     b.x,           batch->logits, batch->wanted_rows,
                                   c->hidden, c->vocab, batch->wanted, c->epsilon};
    return launch_product<TO_LOGITS>(logits, stream);
    // [/student]
}

/** Block (row): x = the embedding of the row's token; of a row that pads, zeros. */
__global__ void embed_kernel(struct engine_config c, struct engine_batch batch, const __half *embedding,
                             float *x)
{
    // [student: embed_kernel]
    const size_t row = blockIdx.x, hidden = (size_t)c.hidden;
    const bool pads = batch.positions[row] < 0;
    const __half *from = embedding + (pads ? 0 : (size_t)batch.tokens[row]) * hidden;
    let_next_start();
    for (size_t i = threadIdx.x; i < hidden; i += THREADS)
        x[row * hidden + i] = pads ? 0.0f : __half2float(from[i]);
    // [/student]
}

/** Layer @p index: appends to the cache, changes x. */
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
    const struct layer_attention a = {*c,     batch->positions, batch->requests, batch->tables,
                                      b->qkv, w + at.q_norm,    w + at.k_norm,   b->q,
                                      keys,   keys + slice,     b->attended};
    const struct product qkv = {w + at.qkv, w + at.input_norm,   b->x, b->qkv,    NULL,
                                c->hidden,  heads * c->head_dim, rows, c->epsilon};
    const struct product o = {w + at.o, NULL, b->attended, b->x, NULL, q_width, c->hidden, rows, 0.0f};
    const struct product gate = {w + at.gate_up, w + at.mlp_norm, b->x, b->gated,  NULL,
                                 c->hidden,      c->intermediate, rows, c->epsilon};
    const struct product down = {w + at.down,     NULL,      b->gated, b->x, NULL,
                                 c->intermediate, c->hidden, rows,     0.0f};
    const dim3 of_append(divide_up(heads, WARPS), rows), of_attend(c->heads, rows);
    void (*const attend)(struct layer_attention) = c->head_dim == 32   ? attend_kernel<4>
                                                   : c->head_dim == 64 ? attend_kernel<8>
                                                                       : attend_kernel<16>;
    enum kernel_status status = launch_product<TO_QKV>(qkv, stream);
    if (status == KERNEL_OK) status = launch_early(append_kernel, of_append, THREADS, stream, a);
    if (status == KERNEL_OK) status = launch_early(attend, of_attend, THREADS, stream, a);
    if (status == KERNEL_OK) status = launch_product<TO_STATE>(o, stream);
    if (status == KERNEL_OK) status = launch_product<TO_GATED>(gate, stream);
    return status == KERNEL_OK ? launch_product<TO_STATE>(down, stream) : status;
    // [/student]
}

/* ---- products with weights -------------------------------------------------------------------------------------- */

/** A block for every 16 rows of weights, and every tile of rows of the batch, or MANY tiles. */
template <int KIND> static enum kernel_status launch_product(const struct product &p, cudaStream_t stream)
{
    // [student: launch_product]
    const int width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS, tiles = p.rows > TILE ? MANY : 1;
    const dim3 grid(divide_up(p.outputs, width), divide_up(p.rows, tiles * TILE));
    if (tiles == 1) return launch_early(product_kernel<KIND, 1>, grid, THREADS, stream, p);
    return launch_early(product_kernel<KIND, MANY>, grid, THREADS, stream, p);
    // [/student]
}

/** Every warp sums its slice of the inputs, for 16 rows of weights and TILES * 8 rows of the batch; then slices are added. */
template <int KIND, int TILES> __global__ void __launch_bounds__(THREADS) product_kernel(struct product p)
{
    // [student: product_kernel]
    __shared__ float factors[TILES * TILE], parts[WARPS][TILES * TILE][OUTPUTS];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, g = lane / 4, t = lane % 4;
    const int first_row = (int)blockIdx.y * TILES * TILE, spans = p.inputs / SPAN;
    const int end = (warp + 1) * spans / WARPS;
    struct ahead next;
    float c[TILES][4] = {};
    let_next_start();
    ask_weights<KIND>(&next, p, warp * spans / WARPS, end); // nobody writes weights: they need not wait
    wait_for_kernel_before();
    if (KIND != TO_STATE) find_factors(factors, p, first_row, TILES * TILE);
    __syncthreads(); // all factors are there
    for (int first = warp * spans / WARPS; first < end; first += AHEAD) {
        const struct ahead now = next;
        ask_weights<KIND>(&next, p, first + AHEAD, end);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (first + i >= end) break; // whole warps
            const uint32_t a[4] = {now.low[i].x, now.high[i].x, now.low[i].y, now.high[i].y};
            const uint32_t a_next[4] = {now.low[i].z, now.high[i].z, now.low[i].w, now.high[i].w};
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                const int row = tile * TILE + g;
                const float factor = KIND == TO_STATE ? 1.0f : factors[row];
                uint32_t h[4];
                take_inputs<KIND>(h, p, first_row + row, (first + i) * SPAN + 8 * t, factor);
                multiply_add<__half>(c[tile], a, h[0], h[1]);
                multiply_add<__half>(c[tile], a_next, h[2], h[3]);
            }
        }
    }
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
        for (int i = 0; i < 4; i++) parts[warp][tile * TILE + 2 * t + i % 2][g + i / 2 * 8] = c[tile][i];
    __syncthreads(); // what every warp found is there
    const int width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS;
    for (int at = (int)threadIdx.x; at < TILES * TILE * width; at += THREADS) {
        const int row = at / width, output = at % width;
        float sums[2] = {0.0f, 0.0f}; // of TO_GATED those of gate and up
        for (int w = 0; w < WARPS; w++) {
            sums[0] += parts[w][row][output];
            if (KIND == TO_GATED) sums[1] += parts[w][row][output + width];
        }
        write_output<KIND>(p, first_row + row, (int)blockIdx.x * width + output, sums);
    }
    // [/student]
}

/** Asks for the weights of spans @p first .. @p end - 1, AHEAD at most. Rows past the last one are the last one again. */
template <int KIND>
__device__ inline void ask_weights(struct ahead *next, const struct product &p, int first, int end)
{
    // [student: ask_weights]
    const int lane = (int)threadIdx.x % WARP, width = KIND == TO_GATED ? OUTPUTS / 2 : OUTPUTS;
    const int output = (int)blockIdx.x * width + lane / 4, last = p.outputs - 1;
    const size_t low = (size_t)min(output, last);
    const size_t high = KIND == TO_GATED ? (size_t)p.outputs + low : (size_t)min(output + 8, last);
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        if (first + i >= end) continue;
        const size_t at = (size_t)(first + i) * SPAN + (size_t)(lane % 4 * 8);
        next->low[i] = *(const uint4 *)(p.weights + low * (size_t)p.inputs + at);
        next->high[i] = *(const uint4 *)(p.weights + high * (size_t)p.inputs + at);
    }
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
    const int lane = (int)threadIdx.x % WARP;
    for (int i = (int)threadIdx.x / WARP; i < count; i += WARPS) {
        const int row = row_of_x(p, first_row + i);
        float sum[1] = {0.0f};
        for (int at = lane; row >= 0 && at < p.inputs; at += WARP) {
            const float x = ((const float *)p.x)[(size_t)row * (size_t)p.inputs + (size_t)at];
            sum[0] = fmaf(x, x, sum[0]);
        }
        warp_sum<1>(sum);
        if (lane == 0) factors[i] = rsqrtf(sum[0] / (float)p.inputs + p.epsilon);
    }
    // [/student]
}

/** Eight inputs of row @p row from @p at on, as four registers of two halves; zeros where there is no such row. */
template <int KIND>
__device__ inline void take_inputs(uint32_t h[4], const struct product &p, int row, int at, float factor)
{
    // [student: take_inputs]
    const int from = row_of_x(p, row);
    const size_t place = (size_t)max(from, 0) * (size_t)p.inputs + (size_t)at;
    uint4 halves = make_uint4(0, 0, 0, 0);
    if (KIND == TO_STATE && from >= 0) halves = *(const uint4 *)((const __half *)p.x + place);
    h[0] = halves.x, h[1] = halves.y, h[2] = halves.z, h[3] = halves.w;
    if (KIND == TO_STATE || from < 0) return;
    float gain[8];
    load_eight(gain, p.gain + at);
    const float4 *x = (const float4 *)((const float *)p.x + place);
    const float4 low = x[0], high = x[1];
    h[0] = pack_elements<__half>(low.x * factor * gain[0], low.y * factor * gain[1]);
    h[1] = pack_elements<__half>(low.z * factor * gain[2], low.w * factor * gain[3]);
    h[2] = pack_elements<__half>(high.x * factor * gain[4], high.y * factor * gain[5]);
    h[3] = pack_elements<__half>(high.z * factor * gain[6], high.w * factor * gain[7]);
    // [/student]
}

/** What becomes of a sum; of TO_GATED @p sums has two, of gate and of up. */
template <int KIND>
__device__ inline void write_output(const struct product &p, int row, int output, const float *sums)
{
    // [student: write_output]
    if (output >= p.outputs || row_of_x(p, row) < 0) return;
    const size_t at = (size_t)row * (size_t)p.outputs + (size_t)output;
    if (KIND == TO_QKV || KIND == TO_LOGITS) ((float *)p.out)[at] = sums[0];
    if (KIND == TO_STATE) ((float *)p.out)[at] += sums[0];
    if (KIND == TO_GATED) ((__half *)p.out)[at] = __float2half(sums[0] / (1.0f + expf(-sums[0])) * sums[1]);
    // [/student]
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/** A warp for each head of a row: q and k are normalised and rotated, k and v go to the cache. */
__global__ void append_kernel(struct layer_attention a)
{
    // [student: append_kernel]
    const struct engine_config &c = a.config;
    const int row = (int)blockIdx.y, head = (int)(blockIdx.x * WARPS + threadIdx.x / WARP);
    const int heads = c.heads + 2 * c.kv_heads, position = a.positions[row];
    let_next_start();
    wait_for_kernel_before();
    if (head >= heads || position < 0) return; // whole warps
    const float *from = a.qkv + ((size_t)row * (size_t)heads + (size_t)head) * (size_t)c.head_dim;
    if (head < c.heads) {
        norm_and_rotate(a.q + ((size_t)row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim, from,
                        a.q_norm, c, position);
        return;
    }
    const int kv_head = (head - c.heads) % c.kv_heads;
    const size_t place = cache_place(a, row, position) + (size_t)kv_head * (size_t)c.head_dim;
    if (head < c.heads + c.kv_heads) {
        norm_and_rotate(a.keys + place, from, a.k_norm, c, position);
        return;
    }
    for (int d = (int)threadIdx.x % WARP; d < c.head_dim; d += WARP)
        a.values[place + (size_t)d] = __float2half(from[d]);
    // [/student]
}

/** A warp: @p to = rope(norm(@p head) * gain), [head_dim]. */
__device__ inline void norm_and_rotate(__half *to, const float *head, const __half *gain,
                                       const struct engine_config &c, int position)
{
    // [student: norm_and_rotate]
    const int lane = (int)threadIdx.x % WARP, half_dim = c.head_dim / 2;
    float sum[1] = {0.0f};
    for (int d = lane; d < c.head_dim; d += WARP) sum[0] = fmaf(head[d], head[d], sum[0]);
    warp_sum<1>(sum);
    const float factor = rsqrtf(sum[0] / (float)c.head_dim + c.epsilon);
    for (int d = lane; d < half_dim; d += WARP) {
        const float low = head[d] * factor * __half2float(gain[d]);
        const float high = head[d + half_dim] * factor * __half2float(gain[d + half_dim]);
        float sine, cosine;
        sincosf((float)position * powf(c.rope_base, -(float)d / (float)half_dim), &sine, &cosine);
        to[d] = __float2half(low * cosine - high * sine);
        to[d + half_dim] = __float2half(high * cosine + low * sine);
    }
    // [/student]
}

/** A block for each head of a row. LANES lanes share a key, eight elements each; tiles of KEYS keys, online softmax. */
template <int LANES> __global__ void __launch_bounds__(THREADS) attend_kernel(struct layer_attention a)
{
    // [student: attend_kernel]
    __shared__ float scores[KEYS], slots[2 * WARPS], sums[THREADS / LANES][LANES * 8];
    const int part = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
    const int row = (int)blockIdx.y, keys = a.positions[row] + 1; // of the step, and not of the capture
    const size_t of_row = ((size_t)row * (size_t)a.config.heads + blockIdx.x) * (LANES * 8);
    float q[8], sum[8] = {0.0f}, m = -INFINITY, l = 0.0f;
    let_next_start();
    wait_for_kernel_before();
    if (keys > 0) load_eight(q, a.q + of_row + (size_t)(part * 8));
    for (int first = 0; first < keys; first += KEYS) {
        const int count = min(keys - first, (int)KEYS), mine = (int)threadIdx.x; // a thread for each weight
        score_keys<LANES>(scores, q, a, first, count);
        __syncthreads(); // all scores of the tile are there
        const float score = mine < count ? scores[mine] : -INFINITY;
        const float most = fmaxf(m, block_max(score, slots)), correction = expf(m - most);
        const float weight = expf(score - most);
        scores[mine] = weight;
        l = l * correction + weight;
        m = most;
        for (int i = 0; i < 8; i++) sum[i] *= correction;
        __syncthreads(); // all weights are there
        add_values<LANES>(sum, scores, a, first, count);
        __syncthreads(); // and used, before the next tile's scores replace them
    }
    const float all = block_sum(l, slots + WARPS);
    for (int i = 0; i < 8; i++) sums[group][part * 8 + i] = sum[i];
    __syncthreads(); // what every group found is there
    for (int d = (int)threadIdx.x; d < LANES * 8; d += THREADS) {
        float value = 0.0f;
        for (int i = 0; i < THREADS / LANES; i++) value += sums[i][d];
        a.attended[of_row + (size_t)d] = __float2half(keys > 0 ? value / all : 0.0f);
    }
    // [/student]
}

/** Scores of @p count keys from position @p first on; groups of LANES lanes take keys in turn. */
template <int LANES>
__device__ inline void score_keys(float *scores, const float q[8], const struct layer_attention &a, int first,
                                  int count)
{
    // [student: score_keys]
    const int part = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
    const int kv_head = (int)blockIdx.x / (a.config.heads / a.config.kv_heads);
    const float scale = rsqrtf((float)(LANES * 8));
    for (int base = 0; base < count; base += THREADS / LANES) { // every lane shuffles, also for no key
        const int key = base + group;
        float dot = 0.0f, k[8] = {0.0f};
        if (key < count)
            load_eight(k, a.keys + cache_place(a, (int)blockIdx.y, first + key) + kv_head * (LANES * 8) +
                              part * 8);
        for (int i = 0; i < 8; i++) dot = fmaf(q[i], k[i], dot);
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        if (part == 0 && key < count) scores[key] = dot * scale;
    }
    // [/student]
}

/** Adds the values of @p count keys from position @p first on, each times its weight; groups take keys in turn. */
template <int LANES>
__device__ inline void add_values(float sums[8], const float *weights, const struct layer_attention &a,
                                  int first, int count)
{
    // [student: add_values]
    const int part = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
    const int kv_head = (int)blockIdx.x / (a.config.heads / a.config.kv_heads);
    for (int key = group; key < count; key += THREADS / LANES) {
        float v[8];
        load_eight(v, a.values + cache_place(a, (int)blockIdx.y, first + key) + kv_head * (LANES * 8) +
                          part * 8);
        for (int i = 0; i < 8; i++) sums[i] = fmaf(weights[key], v[i], sums[i]);
    }
    // [/student]
}

/** The largest @p x of the block, in every thread. A shuffle reaches one warp only: slots carry it to the others. */
__device__ inline float block_max(float x, float *slots) // [WARPS]
{
    // [student: block_max]
    float most[1] = {x};
    warp_max<1>(most);
    if (threadIdx.x % WARP == 0) slots[threadIdx.x / WARP] = most[0];
    __syncthreads(); // all slots are written
    for (int w = 0; w < WARPS; w++) most[0] = fmaxf(most[0], slots[w]);
    return most[0];
    // [/student]
}

/** The sum of @p x over the block, in every thread. */
__device__ inline float block_sum(float x, float *slots) // [WARPS]
{
    // [student: block_sum]
    float sum[1] = {x};
    warp_sum<1>(sum);
    if (threadIdx.x % WARP == 0) slots[threadIdx.x / WARP] = sum[0];
    __syncthreads(); // all slots are written
    sum[0] = 0.0f;
    for (int w = 0; w < WARPS; w++) sum[0] += slots[w];
    return sum[0];
    // [/student]
}

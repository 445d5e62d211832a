// [student: head]
/*
 * A layer of many experts, of which each token takes a few: pairs of token and expert are sorted by expert, and one launch
 * multiplies all experts' rows, however many each has.
 *
 *     tokens   t0 t1 t2 t3          route     t0: e2 e0    t1: e2 e3    t2: e0 e2    t3: e3 e2
 *     rows     e0: t0 t2            group     a row of A per pair, sorted by expert; row_of says which
 *              e2: t0 t1 t2 t3      product   tiles of 128 rows of one expert; e1 has none
 *              e3: t1 t3            return    each token sums up its rows, in the order of its choices
 *
 * Nobody asks for a row with an atomic: a row is counted, from the pairs before it, so that every run gives the same rows.
 * A tile of w is half gate and half up, so a thread's sums of both are in its own registers, and silu(gate) * up costs no memory.
 *
 * Run:  build/bin/warpwise check 21 --kernel solutions/21_mixture_of_experts/mixture_of_experts.cu
 */
// [/student]
#include "mixture_of_experts.h"

#include <limits.h>
#include <math.h>

#include "expert_tiles.h" // sizes, what a block shares, and lesson 15's loop over k
#include "kernel_launch.h"
#include "layer_workspace.h"

enum {
    ROUTE_WARPS = 4,              // of a block: a token each
    LOGITS = MOST_EXPERTS / WARP, // of a lane
    GROUP_WARPS = 32,             // of a block at most: they share the pairs out
    COPY_THREADS = 256            // of a block that gathers or returns a token, at most
};

/** An expert that a token could take. */
struct choice {
    float logit;
    int expert;
};

/* ---- routing ------------------------------------------------------------------------------------------- */

/** 1 if @p a is to be taken before @p b. */
__device__ inline int comes_first(struct choice a, struct choice b)
{
    // [student: comes_first]
    return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert);
    // [/student]
}

/** The choice that comes first of those of a warp's lanes. All 32 lanes must call it. */
__device__ inline struct choice first_of_warp(struct choice mine)
{
    // [student: first_of_warp]
    for (int step = WARP / 2; step > 0; step /= 2) {
        struct choice other = {__shfl_xor_sync(ALL_LANES, mine.logit, step),
                               __shfl_xor_sync(ALL_LANES, mine.expert, step)};
        if (comes_first(other, mine)) mine = other;
    }
    return mine;
    // [/student]
}

/** A warp, a token: lane l has the logits of experts l, l + 32 and so on, and in the end choice number l. */
__global__ void route_kernel(const float *logits, // [tokens, experts]
                             int *chosen,         // [tokens, top_k]
                             float *weights,      // [tokens, top_k]
                             int tokens, int experts, int top_k, int renormalise)
{
    // [student: route_kernel]
    int lane = (int)threadIdx.x % WARP;
    size_t token = (size_t)blockIdx.x * ROUTE_WARPS + threadIdx.x / WARP;
    wait_for_kernel_before();
    if (token >= (size_t)tokens) return; // a whole warp
    float x[LOGITS], total = 0.0f;
    struct choice best = {-INFINITY, INT_MAX}, mine = best;
    for (int i = 0; i < LOGITS; i++) {
        int expert = lane + i * WARP;
        x[i] = expert < experts ? logits[token * experts + expert] : -INFINITY;
        best.logit = fmaxf(best.logit, x[i]); // of a number and a NaN it is the number
    }
    float largest = first_of_warp(best).logit;
    for (int i = 0; i < LOGITS; i++)
        if (lane + i * WARP < experts) total += expf(x[i] - largest);
    total = warp_sum(total);
    for (int taken = 0, round = 0; round < top_k; round++) { // bit i of taken: x[i] was chosen
        best = {-INFINITY, INT_MAX};
        for (int i = 0; i < LOGITS; i++) {
            struct choice next = {isnan(x[i]) ? -INFINITY : x[i], lane + i * WARP};
            if (next.expert < experts && !(taken >> i & 1) && comes_first(next, best)) best = next;
        }
        best = first_of_warp(best);
        if (best.expert % WARP == lane) taken |= 1 << best.expert / WARP;
        if (lane == round) mine = best;
    }
    float p = lane < top_k ? expf(mine.logit - largest) / total : 0.0f;
    if (renormalise) p /= warp_sum(p);
    if (lane >= top_k) return;
    chosen[token * top_k + lane] = mine.expert;
    weights[token * top_k + lane] = p;
    // [/student]
}

/* ---- pairs by expert ------------------------------------------------------------------------------------- */

/** A block, an expert: its first row is the number of pairs of smaller experts; then each of its pairs gets the next row. */
__global__ void __launch_bounds__(GROUP_WARPS *WARP) group_kernel(const int *chosen, // [pairs]
                                                                  int *offsets,      // [experts + 1]
                                                                  int *row_of,       // [pairs]
                                                                  int pairs, int experts)
{
    // [student: group_kernel]
    __shared__ int before[GROUP_WARPS], own[GROUP_WARPS];
    int expert = (int)blockIdx.x, warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int warps = (int)blockDim.x / WARP;
    size_t share = (size_t)divide_up(divide_up(pairs, warps), WARP) * WARP; // neighbours for a warp
    size_t begin = warp * share, end = min(begin + share, (size_t)pairs);
    int smaller = 0, same = 0;
    wait_for_kernel_before();
    for (size_t i = begin + lane; i < end; i += WARP) {
        int of = chosen[i];
        smaller += of >= 0 && of < expert, same += of == expert;
    }
    smaller = warp_running_sum(smaller), same = warp_running_sum(same);
    if (lane == WARP - 1) before[warp] = smaller, own[warp] = same;
    __syncthreads(); // all warps have counted
    int first = 0, row = 0, count = 0;
    for (int w = 0; w < warps; w++) {
        first += before[w], count += own[w];
        if (w < warp) row += own[w];
    }
    row += first;
    if (threadIdx.x == 0) offsets[expert] = first;
    if (threadIdx.x == 0 && expert == experts - 1) offsets[experts] = first + count;
    for (size_t i = begin; i < end; i += WARP) {
        int there = i + lane < end, of = there ? chosen[i + lane] : -1;
        unsigned lanes = __ballot_sync(ALL_LANES, there && of == expert);
        if (lanes >> lane & 1) row_of[i + lane] = row + __popc(lanes & ((1u << lane) - 1));
        if (there && expert == 0 && (of < 0 || of >= experts)) row_of[i + lane] = -1;
        row += __popc(lanes);
    }
    // [/student]
}

/** A block, a token: its row of x goes to the rows of all its pairs. */
__global__ void gather_kernel(const uint4 *x,    // [tokens, chunks]
                              const int *row_of, // [tokens, top_k]
                              uint4 *rows,       // [tokens * top_k, chunks]
                              int top_k, int chunks)
{
    // [student: gather_kernel]
    size_t token = blockIdx.x;
    wait_for_kernel_before();
    for (int chunk = (int)threadIdx.x; chunk < chunks; chunk += (int)blockDim.x) {
        uint4 elements = x[token * chunks + chunk];
        for (int j = 0; j < top_k; j++) rows[(size_t)row_of[token * top_k + j] * chunks + chunk] = elements;
    }
    // [/student]
}

/* ---- the product of many rows ------------------------------------------------------------------------------ */

/** Fills first[e] with the number of tiles of the experts before e; first[experts] is that of all. Ends with a barrier. */
__device__ inline void count_tiles(int *first, const struct product &p)
{
    // [student: count_tiles]
    int lane = (int)threadIdx.x, before = 0;
    for (int e = lane; threadIdx.x < WARP && e - lane < p.args.experts; e += WARP) {
        int tiles = 0;
        if (e < p.args.experts)
            tiles = divide_up(p.args.offsets[e + 1] - p.args.offsets[e], TILE_M) * p.tiles_n;
        int sum = before + warp_running_sum(tiles);
        if (e < p.args.experts) first[e + 1] = sum;
        before = __shfl_sync(ALL_LANES, sum, WARP - 1);
    }
    if (threadIdx.x == 0) first[0] = 0;
    __syncthreads(); // everybody reads them
    // [/student]
}

/** Tile number @p index: of the last expert whose first tile is not after it. Tiles below each other share rows of w. */
__device__ inline struct tile find_tile(const int *first, const struct product &p, int index)
{
    // [student: find_tile]
    int low = 0, high = p.args.experts; // first[low] <= index < first[high]
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    int begin = p.args.offsets[low], rows = p.args.offsets[low + 1] - begin;
    int tiles_m = divide_up(rows, TILE_M), within = index - first[low], row = within % tiles_m * TILE_M;
    return {low, begin + row, rows - row, within / tiles_m * p.columns};
    // [/student]
}

/** One thread loads all slices of all tiles of its block, as soon as their stages are empty. */
__device__ inline void load_tiles(const struct product &p, const struct shared_memory &s)
{
    // [student: load_tiles]
    struct ring ring = {0, 1}; // parity 1: in the first round stages are empty, and no wait blocks
    for (int index = (int)blockIdx.x; index < s.first[p.args.experts]; index += (int)gridDim.x) {
        struct tile tile = find_tile(s.first, p, index);
        int line = tile.expert * p.lines + tile.column;
        for (int slice = 0; slice < p.slices; slice++, advance<STAGES>(&ring)) {
            char *stage = s.stages + ring.stage * STAGE_BYTES;
            uint64_t *full = &s.full[ring.stage];
            mbarrier_wait(&s.empty[ring.stage], ring.parity);
            mbarrier_arrive_expect(full, STAGE_BYTES);
            tensor_load(stage, &p.a, slice * TILE_K, tile.row, full);
            tensor_load(stage + A_BYTES, &p.w, slice * TILE_K, line, full);
            tensor_load(stage + A_BYTES + HALF_BYTES, &p.w, slice * TILE_K, line + p.second, full);
        }
    }
    // [/student]
}

/**
 * Writes 64 columns of a warp's 16 rows, by way of @p buffer: what no expert's row or column is stays as it was. @p row is the
 * first of the warpgroup's 64 rows, of which @p rows exist.
 */
template <typename T>
__device__ inline void write_columns(const struct product &p, char *buffer, const float sum[32], int row,
                                     int rows, int column)
{
    // [student: write_columns]
    int lane = (int)threadIdx.x % WARP, first = (int)threadIdx.x % WARPGROUP / WARP * 16;
    stage_columns<T>(buffer, sum);
    __syncwarp(); // the warp's 16 rows are complete before its lanes read them
    for (int at = lane; at < 16 * OUT_COLUMNS / CHUNK; at += WARP) {
        int y = first + at / CHUNK, x = column + at % CHUNK * CHUNK;
        if (y < rows && x < p.args.n)
            *(uint4 *)((T *)p.args.c + (size_t)(row + y) * p.args.n + x) =
                *(const uint4 *)(buffer + swizzled(y, at % CHUNK * 16));
    }
    __syncwarp(); // they are read before the next columns replace them
    // [/student]
}

/** A warpgroup multiplies 64 rows of every tile of its block, and writes those that exist. */
template <typename T, int SWIGLU>
__device__ inline void multiply_tiles(const struct product &p, const struct shared_memory &s)
{
    // [student: multiply_tiles]
    int group = (int)threadIdx.x / WARPGROUP - 1;
    struct ring ring = {0, 0};
    for (int index = (int)blockIdx.x; index < s.first[p.args.experts]; index += (int)gridDim.x) {
        struct tile tile = find_tile(s.first, p, index);
        int row = tile.row + group * GROUP_ROWS, rows = tile.rows - group * GROUP_ROWS;
        if (rows <= 0) {
            skip_slices(&ring, p.slices, s);
            continue;
        }
        float sum[SUMS];
#pragma unroll
        for (int i = 0; i < SUMS; i++) sum[i] = 0.0f;
        multiply_slices<T>(sum, &ring, p.slices, s);
        // Of a thread's sums the first half is of the first half of the tile's rows of w, the gate.
#pragma unroll
        for (int i = 0; SWIGLU && i < SUMS / 2; i++) sum[i] = swiglu(sum[i], sum[i + SUMS / 2]);
#pragma unroll
        for (int at = 0; at < (SWIGLU ? SUMS / 2 : SUMS); at += 32)
            write_columns<T>(p, s.out + group * OUT_BYTES, &sum[at], row, rows, tile.column + at * 2);
    }
    // [/student]
}

/** One block per SM, tile after tile: a producer and two consumers, as in lesson 15. */
template <typename T, int SWIGLU>
__global__ void __launch_bounds__(THREADS, 1) product_kernel(const __grid_constant__ struct product p)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    uint64_t *barriers = (uint64_t *)(shared + BARRIERS_AT);
    struct shared_memory s = {shared, shared + OUT_AT, barriers, barriers + STAGES,
                              (int *)(shared + FIRST_AT)};
    start_barriers(s);
    count_tiles(s.first, p); // its barrier is that of the mbarriers, too
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) load_tiles(p, s);
    } else {
        registers_up_to<CONSUMER_REGISTERS>();
        multiply_tiles<T, SWIGLU>(p, s);
    }
#endif
}

/** A block per SM: all of them have something to do, or find that there are fewer tiles. */
template <typename T, int SWIGLU>
static enum kernel_status launch_many(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    // [student: launch_many]
    struct product p;
    if (!describe_product(&p, args)) return KERNEL_CUDA_ERROR;
    int blocks = max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    launch_in_clusters(product_kernel<T, SWIGLU>, blocks, THREADS, SHARED_BYTES, 1, stream, p);
    return launch_status();
    // [/student]
}

/* ---- the product of few rows ------------------------------------------------------------------------------- */

/**
 * A warp's share of k, of 16 + 16 rows of w times 8 rows of A: fragments straight from memory, 16 bytes of a row per lane. Which
 * of the eight k of a lane a product takes first does not matter, if A and w agree. @p line is the first row of w, counted over
 * all experts; @p lines: how many the expert has from there on, with swiglu of gate; @p row and @p rows: the same of A.
 */
template <typename T, int SWIGLU>
__device__ inline void multiply_few(float sum[2][4], const struct grouped_gemm_args &args, size_t line,
                                    int lines, int row, int rows)
{
    // [student: multiply_few]
    int warp = (int)threadIdx.x / WARP, g = (int)threadIdx.x % WARP / 4, q = (int)threadIdx.x % 4;
    int second = SWIGLU ? args.n : FEW_LINES; // from the first 16 rows of w to the others
    int lines_of[2] = {lines, SWIGLU ? lines : lines - FEW_LINES};
#pragma unroll 2
    for (int k = warp * STEP_K + q * CHUNK; k - q * CHUNK < args.k; k += FEW_WARPS * STEP_K) {
        uint4 a = load_chunk<T>(args.a, (size_t)row + g, g < rows, args.k, k), w[2][2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int y = g + i % 2 * 8; // rows g and g + 8 of 16
            w[i / 2][i % 2] =
                load_chunk<T>(args.w, line + i / 2 * second + y, y < lines_of[i / 2], args.k, k);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t low[4] = {w[i][0].x, w[i][1].x, w[i][0].y, w[i][1].y};
            const uint32_t high[4] = {w[i][0].z, w[i][1].z, w[i][0].w, w[i][1].w};
            multiply_add<T>(sum[i], low, a.x, a.y);
            multiply_add<T>(sum[i], high, a.z, a.w);
        }
    }
    // [/student]
}

/** A block, 16 + 16 rows of w of one expert: 8 rows of A at a time, and k shared out among its warps. */
template <typename T, int SWIGLU>
__global__ void __launch_bounds__(FEW_THREADS) few_kernel(struct grouped_gemm_args args)
{
    // [student: few_kernel]
    __shared__ float partial[FEW_WARPS][2][FEW_ROWS]
                            [FEW_LINES + 4]; // + 4: eight rows in eight groups of banks
    int warp = (int)threadIdx.x / WARP, g = (int)threadIdx.x % WARP / 4, q = (int)threadIdx.x % 4;
    int x = (int)threadIdx.x % FEW_LINES, y = (int)threadIdx.x / FEW_LINES % FEW_ROWS;
    int half = (int)threadIdx.x / (FEW_LINES * FEW_ROWS);
    int column = (int)blockIdx.x * (SWIGLU ? FEW_LINES : 2 * FEW_LINES);
    wait_for_kernel_before();
    int expert = find_expert(args.offsets, args.experts, (int)blockIdx.y);
    if (expert < 0) return; // the whole block
    size_t line = (size_t)expert * (1 + SWIGLU) * args.n + column;
    int end = args.offsets[expert + 1];
    for (int row = args.offsets[expert]; row < end; row += FEW_ROWS) {
        float sum[2][4] = {}, total[2] = {};
        multiply_few<T, SWIGLU>(sum, args, line, args.n - column, row, end - row);
        for (int i = 0; i < 8; i++)
            partial[warp][i / 4][2 * q + i % 2][g + i / 2 % 2 * 8] = sum[i / 4][i % 4];
        __syncthreads(); // all warps' sums are there
        for (int w = 0; w < FEW_WARPS; w++) {
            total[0] += partial[w][SWIGLU ? 0 : half][y][x];
            if (SWIGLU) total[1] += partial[w][1][y][x];
        }
        float value = SWIGLU ? swiglu(total[0], total[1]) : total[0];
        int at = column + (SWIGLU ? 0 : half * FEW_LINES) + x;
        if (y < end - row && at < args.n && !(SWIGLU && half == 1))
            ((uint16_t *)args.c)[((size_t)row + y) * args.n + at] = (uint16_t)pack_elements<T>(value, 0.0f);
        __syncthreads(); // they are read before the next rows replace them
    }
    // [/student]
}

/** As many blocks as could have something to do: no more experts have rows than there are rows. */
template <typename T, int SWIGLU>
static enum kernel_status launch_few(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    // [student: launch_few]
    dim3 grid((unsigned)divide_up(args->n, SWIGLU ? FEW_LINES : 2 * FEW_LINES),
              (unsigned)min(args->rows, args->experts));
    return launch_early(few_kernel<T, SWIGLU>, grid, FEW_THREADS, stream, *args);
    // [/student]
}

/* ---- back to tokens ---------------------------------------------------------------------------------------- */

/** A block, a token: the weighted sum of the rows of its pairs, in the order of its choices; 8 columns per thread. */
template <typename T>
__global__ void return_kernel(const uint4 *rows,    // [tokens * top_k, chunks]
                              const int *row_of,    // [tokens, top_k]
                              const float *weights, // [tokens, top_k]
                              uint4 *out,           // [tokens, chunks]
                              int top_k, int chunks)
{
    // [student: return_kernel]
    size_t token = blockIdx.x;
    wait_for_kernel_before();
    for (int chunk = (int)threadIdx.x; chunk < chunks; chunk += (int)blockDim.x) {
        float sum[CHUNK] = {};
        for (int j = 0; j < top_k; j++) {
            uint4 four = rows[(size_t)row_of[token * top_k + j] * chunks + chunk];
            const uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
            for (int i = 0; i < CHUNK; i++)
                sum[i] += weights[token * top_k + j] * unpack_element<T>(pairs[i / 2], i % 2);
        }
        out[token * chunks + chunk] = {pack_elements<T>(sum[0], sum[1]), pack_elements<T>(sum[2], sum[3]),
                                       pack_elements<T>(sum[4], sum[5]), pack_elements<T>(sum[6], sum[7])};
    }
    // [/student]
}

/* ---- entry points -------------------------------------------------------------------------------------- */

enum kernel_status experts_route(const float *logits, int *chosen, float *weights, int tokens, int experts,
                                 int top_k, int renormalise, cudaStream_t stream)
{
    enum kernel_status status =
        experts_route_check(logits, chosen, weights, tokens, experts, top_k, renormalise);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    // [student: launch_route]
    return launch_early(route_kernel, (unsigned)divide_up(tokens, ROUTE_WARPS), ROUTE_WARPS * WARP, stream,
                        logits, chosen, weights, tokens, experts, top_k, renormalise);
    // [/student]
}

enum kernel_status experts_group(const int *chosen, int *offsets, int *row_of, int pairs, int experts,
                                 cudaStream_t stream)
{
    enum kernel_status status = experts_group_check(chosen, offsets, row_of, pairs, experts);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    // [student: launch_group]
    int warps = min(divide_up(pairs, WARP), (int)GROUP_WARPS);
    return launch_early(group_kernel, (unsigned)experts, (unsigned)(warps * WARP), stream, chosen, offsets,
                        row_of, pairs, experts);
    // [/student]
}

/** Few rows per expert, and weights are what takes time: then blocks for every 16 of their rows. Else tiles of 128 rows. */
template <typename T>
static enum kernel_status launch_product(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    int few = args->rows <= FEW_ROWS / 2 * args->experts;
    if (args->swiglu) return few ? launch_few<T, 1>(args, stream) : launch_many<T, 1>(args, stream);
    return few ? launch_few<T, 0>(args, stream) : launch_many<T, 0>(args, stream);
}

enum kernel_status experts_product(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = grouped_gemm_args_check(args);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->dtype == DTYPE_F16 ? launch_product<__half>(args, stream)
                                    : launch_product<__nv_bfloat16>(args, stream);
}

size_t mixture_of_experts_workspace_bytes(const struct experts_args *args)
{
    struct scratch scratch;
    return args != NULL && experts_extents_fit(args) ? divide_workspace(args, NULL, &scratch) : 0;
}

enum kernel_status mixture_of_experts(const struct experts_args *args, cudaStream_t stream)
{
    struct scratch s;
    enum kernel_status status = experts_args_check(args, mixture_of_experts_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    divide_workspace(args, (char *)args->workspace, &s);
    // [student: launch_layer]
    int pairs = args->tokens * args->top_k, chunks = args->hidden / CHUNK;
    unsigned threads = (unsigned)min(divide_up(chunks, WARP) * WARP, (int)COPY_THREADS);
    status = experts_route(args->logits, s.chosen, s.weights, args->tokens, args->experts, args->top_k,
                           args->renormalise, stream);
    if (status == KERNEL_OK)
        status = experts_group(s.chosen, s.offsets, s.row_of, pairs, args->experts, stream);
    if (status == KERNEL_OK)
        status = launch_early(gather_kernel, (unsigned)args->tokens, threads, stream, (const uint4 *)args->x,
                              s.row_of, (uint4 *)s.rows, args->top_k, chunks);
    struct grouped_gemm_args in = product_in(args, &s), out = product_out(args, &s);
    if (status == KERNEL_OK) status = experts_product(&in, stream);
    if (status == KERNEL_OK) status = experts_product(&out, stream);
    if (status != KERNEL_OK) return status;
    return launch_early(args->dtype == DTYPE_F16 ? return_kernel<__half> : return_kernel<__nv_bfloat16>,
                        (unsigned)args->tokens, threads, stream, (const uint4 *)s.rows, s.row_of, s.weights,
                        (uint4 *)args->out, args->top_k, chunks);
    // [/student]
}

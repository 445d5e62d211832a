// [student: head]
/*
 * The backward pass of attention. A block owns a tile of keys and values and walks over the tiles of queries that see them:
 * dK and dV stay in its registers from the first query to the last. dQ is a sum over blocks.
 *
 *                    K/V tile 0    K/V tile 1    K/V tile 2
 *      Q tile 0      block 0       block 1       block 2        S, P, dP, dS of a tile: computed, used, forgotten
 *      Q tile 1         |             |             |
 *      Q tile 2         v             v             v  ------>  dQ of a Q tile: one addend from each block
 *                     dK, dV        dK, dV        dK, dV
 *
 * In f16 and bf16 a warp owns 16 or 32 keys. It computes S^T and dP^T, so that P^T and dS^T already lie in its registers as
 * dV += P^T dO and dK += dS^T Q want them. Only dQ += dS K needs the dS of all warps: through shared memory.
 *
 * Paper: Dao 2023, "FlashAttention-2", Algorithm 2.
 * Run:   build/bin/warpwise check 14 --kernel solutions/14_attention_backward/attention_backward.cu
 */
// [/student]
#include "attention_backward.h"

#include "backward_plan.h"    // the workspace, and which block does what
#include "backward_tiles.h"   // sizes, and what lies in shared memory
#include "matrix_fragments.h" // fragments and mma.sync
#include "warp_reduce.h"

/* ---- before: D, and zeros to add to ------------------------------------------------------------------- */

/** The terms of every row, and if blocks will add by atomics, zeros into its accumulator. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(ROW_THREADS)
    prepare_kernel(struct attention_backward_args args, struct backward_plan plan)
{
    // [student: prepare_kernel]
    size_t padded = (size_t)blockIdx.x * ROW_WARPS + threadIdx.x / 32;
    int lane = (int)threadIdx.x % 32, length = plan.q_tiles * TILE_Q;
    int row = (int)(padded % (size_t)length), there = row < args.q_len;
    size_t at = padded / (size_t)length * (size_t)args.q_len + (size_t)row;
    float d[1] = {0.0f};
    for (int c = lane; c < HEAD_DIM && there; c += 32)
        d[0] += element_to_float(((const T *)args.dout)[at * HEAD_DIM + c]) *
                element_to_float(((const T *)args.out)[at * HEAD_DIM + c]);
    warp_sum<1>(d);
    int blind = !there || keys_seen(args, row) == 0;
    if (lane == 0) {
        plan.terms[padded].lse = blind ? INFINITY : args.lse[at] * LOG2_E;
        plan.terms[padded].d = blind ? 0.0f : d[0];
    }
    for (int c = lane; c < HEAD_DIM && args.dq != NULL && !args.deterministic; c += 32)
        plan.accumulators[padded * HEAD_DIM + c] = 0.0f;
    // [/student]
}

/** A warp per padded row. */
template <typename T, int HEAD_DIM>
static void prepare(const struct attention_backward_args *args, const struct backward_plan &plan,
                    cudaStream_t stream)
{
    int blocks = args->batch * args->heads * plan.q_tiles * (TILE_Q / ROW_WARPS);
    prepare_kernel<T, HEAD_DIM><<<(unsigned)blocks, ROW_THREADS, 0, stream>>>(*args, plan);
}

/* ---- f32: a block of 8 by 16 threads has 32 keys ------------------------------------------------------- */

/** P and dS of a tile. What the mask hides, and what is past the end, is 0. */
template <int HEAD_DIM>
__device__ inline void f32_scores(const struct attention_backward_args &args, const struct row_terms *terms,
                                  int first_query, int first_key, float scale,
                                  struct f32_tiles<HEAD_DIM> *tiles)
{
    // [student: f32_scores]
    typedef struct f32_sizes<HEAD_DIM> size;
    int down = (int)threadIdx.x / F32_ACROSS, across = (int)threadIdx.x % F32_ACROSS;
    float s[size::ROWS][size::SCORES] = {}, dp[size::ROWS][size::SCORES] = {};
    for (int c = 0; c < HEAD_DIM; c++)
        for (int j = 0; j < size::SCORES; j++) {
            float k = tiles->k[across + j * F32_ACROSS][c], v = tiles->v[across + j * F32_ACROSS][c];
            for (int i = 0; i < size::ROWS; i++) {
                s[i][j] += tiles->q[down + i * F32_DOWN][c] * k;
                dp[i][j] += tiles->dout[down + i * F32_DOWN][c] * v;
            }
        }
    for (int i = 0; i < size::ROWS; i++)
        for (int j = 0; j < size::SCORES; j++) {
            int row = down + i * F32_DOWN, key = across + j * F32_ACROSS;
            int seen = first_key + key < keys_seen(args, first_query + row);
            float p = exp2f(s[i][j] * scale * LOG2_E - terms[row].lse);
            tiles->p[row][key] = seen ? p : 0.0f;
            tiles->ds[row][key] = seen ? p * (dp[i][j] - terms[row].d) : 0.0f;
        }
    // [/student]
}

/** sum += weights^T rows: over the queries of the tile. */
template <int HEAD_DIM>
__device__ inline void f32_multiply(float sum[F32_KEYS][f32_sizes<HEAD_DIM>::COLUMNS],
                                    const float (*weights)[F32_TILE_KV + 1],
                                    const float (*rows)[HEAD_DIM + PAD])
{
    // [student: f32_multiply]
    int down = (int)threadIdx.x / F32_ACROSS, across = (int)threadIdx.x % F32_ACROSS;
    for (int row = 0; row < f32_sizes<HEAD_DIM>::QUERIES; row++)
        for (int c = 0; c < f32_sizes<HEAD_DIM>::COLUMNS; c++) {
            float x = rows[row][across + c * F32_ACROSS];
            for (int i = 0; i < F32_KEYS; i++) sum[i][c] += weights[row][down + i * F32_DOWN] * x;
        }
    // [/student]
}

/** dQ / scale of a tile, dS K, goes to row-major @p accumulator. */
template <int HEAD_DIM>
__device__ inline void f32_add_dq(float *accumulator, const struct f32_tiles<HEAD_DIM> *tiles,
                                  int deterministic, int first_visit)
{
    // [student: f32_add_dq]
    typedef struct f32_sizes<HEAD_DIM> size;
    int down = (int)threadIdx.x / F32_ACROSS, across = (int)threadIdx.x % F32_ACROSS;
    float dq[size::ROWS][size::COLUMNS] = {};
    for (int key = 0; key < F32_TILE_KV; key++)
        for (int c = 0; c < size::COLUMNS; c++) {
            float k = tiles->k[key][across + c * F32_ACROSS];
            for (int i = 0; i < size::ROWS; i++) dq[i][c] += tiles->ds[down + i * F32_DOWN][key] * k;
        }
    for (int i = 0; i < size::ROWS; i++)
        for (int c = 0; c < size::COLUMNS; c++)
            accumulate(&accumulator[(down + i * F32_DOWN) * HEAD_DIM + across + c * F32_ACROSS], dq[i][c],
                       deterministic, first_visit);
    // [/student]
}

/** This block's tiles of keys, one after another: dK and dV of each, and its addends of dQ. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(F32_THREADS)
    f32_kernel(struct attention_backward_args args, struct backward_plan plan, float scale)
{
    // [student: f32_kernel]
    typedef struct f32_sizes<HEAD_DIM> size;
    extern __shared__ __align__(256) unsigned char shared[];
    struct f32_tiles<HEAD_DIM> *tiles = (struct f32_tiles<HEAD_DIM> *)shared;
    int first = (int)blockIdx.x / (args.batch * args.kv_heads);
    for (int tile = first; tile * F32_TILE_KV < args.kv_len; tile += plan.steps) {
        struct walk walk = find_walk(args, tile, F32_TILE_KV, size::QUERIES);
        float dk[F32_KEYS][size::COLUMNS] = {}, dv[F32_KEYS][size::COLUMNS] = {};
        size_t first_row = (size_t)walk.kv_bh * args.kv_len + walk.first_key;
        __syncthreads(); // the tile of keys before has been read
        load_rows<HEAD_DIM>(tiles->k, args.k, first_row, F32_TILE_KV, args.kv_len - walk.first_key);
        load_rows<HEAD_DIM>(tiles->v, args.v, first_row, F32_TILE_KV, args.kv_len - walk.first_key);
        for (int step = 0; step < walk.steps; step++) {
            int bh = walk.bh + step / walk.q_tiles;
            int query = (walk.first_q_tile + step % walk.q_tiles) * size::QUERIES;
            size_t row = (size_t)bh * args.q_len + query;
            const struct row_terms *terms = plan.terms + (size_t)bh * plan.q_tiles * TILE_Q + query;
            __syncthreads(); // the tile of queries before has been read
            load_rows<HEAD_DIM>(tiles->q, args.q, row, size::QUERIES, args.q_len - query);
            load_rows<HEAD_DIM>(tiles->dout, args.dout, row, size::QUERIES, args.q_len - query);
            __syncthreads(); // the tiles are complete
            f32_scores<HEAD_DIM>(args, terms, query, walk.first_key, scale, tiles);
            __syncthreads(); // P and dS are complete
            f32_multiply<HEAD_DIM>(dv, tiles->p, tiles->dout);
            f32_multiply<HEAD_DIM>(dk, tiles->ds, tiles->q);
            if (args.dq != NULL)
                f32_add_dq<HEAD_DIM>(accumulator_of<HEAD_DIM>(args, plan, walk.slice, bh, query), tiles,
                                     args.deterministic, walk.first_visit);
        }
        for (int i = 0; i < F32_KEYS; i++)
            for (int c = 0; c < size::COLUMNS; c++) {
                int key = (int)threadIdx.x / F32_ACROSS + i * F32_DOWN;
                size_t at = (first_row + key) * HEAD_DIM + threadIdx.x % F32_ACROSS + c * F32_ACROSS;
                if (walk.first_key + key >= args.kv_len) continue;
                if (args.dk != NULL) ((float *)args.dk)[at] = dk[i][c] * scale;
                if (args.dv != NULL) ((float *)args.dv)[at] = dv[i][c];
            }
    }
    // [/student]
}

/* ---- f16 and bf16: a warp has 16 or 32 keys ------------------------------------------------------------ */

/**
 * sum += K Q^T: this warp's keys by SUB queries from @p first_query of the tile on; V dO^T likewise. @p keys and @p queries
 * are the block's tiles.
 */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void multiply_rows(typename tensor_sizes<HEAD_DIM, WARPS>::scores &sum, const T *keys,
                                     const T *queries, int first_query)
{
    // [student: multiply_rows]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    unsigned from_keys = shared_address(keys), from_queries = shared_address(queries);
    int first_key = (int)threadIdx.x / 32 * size::WARP_KEYS;
#pragma unroll 4 // more at once would not fit into registers
    for (int column = 0; column < HEAD_DIM / 8; column += 2) {
        struct fragment_a a[size::M_TILES];
        for (int m = 0; m < size::M_TILES; m++)
            a[m] = load_a<size::ROW_BYTES>(from_keys, first_key + 16 * m, column);
#pragma unroll
        for (int n = 0; n < size::SUB / 8; n += 2) {
            struct fragment_b b =
                load_b_transposed<size::ROW_BYTES>(from_queries, first_query + 8 * n, column);
            for (int m = 0; m < size::M_TILES; m++) {
                multiply_add(sum[m][n], a[m], b, 0, T());
                multiply_add(sum[m][n + 1], a[m], b, 1, T());
            }
        }
    }
    // [/student]
}

/**
 * S^T becomes P^T, and dP^T becomes dS^T. What the mask hides, and what is past the end, is 0. @p first_key is the first of the
 * block's tile, @p first_query the first of the SUB queries, both counted in their head; @p terms begins at that query.
 */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void weigh(const struct attention_backward_args &args, const struct row_terms *terms,
                             int first_key, int first_query, float scale,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &s,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &dp)
{
    // [student: weigh]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    int lane = (int)threadIdx.x % 32, key = first_key + (int)threadIdx.x / 32 * size::WARP_KEYS + lane / 4;
    // Otherwise every query sees every key.
    int masked = first_key + size::TILE_KV > keys_seen(args, first_query);
    if (isinf(scale * LOG2_E)) { // half of it, for products twice as large
        scale *= 0.5f;
        for (int n = 0; n < size::SUB / 8; n++)
            for (int m = 0; m < size::M_TILES; m++)
                for (int x = 0; x < 4; x++) s[m][n][x] *= 2.0f;
    }
#pragma unroll
    for (int n = 0; n < size::SUB / 8; n++)
#pragma unroll
        for (int x = 0; x < 2; x++) {
            int query = n * 8 + lane % 4 * 2 + x;
            struct row_terms row = terms[query];
            int seen = masked ? keys_seen(args, first_query + query) : INT_MAX;
            for (int m = 0; m < size::M_TILES; m++)
                for (int y = x; y < 4; y += 2) {
                    float p = exp2_fast(s[m][n][y] * (scale * LOG2_E) - row.lse);
                    int hidden = key + m * 16 + y / 2 * 8 >= seen;
                    s[m][n][y] = hidden ? 0.0f : p;
                    dp[m][n][y] = hidden ? 0.0f : p * (dp[m][n][y] - row.d);
                }
        }
    // [/student]
}

/** sum += weights rows: P^T dO, dS^T Q. The weights are C of one product and A of the next, in the same lane. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_rows(typename tensor_sizes<HEAD_DIM, WARPS>::sums &sum,
                                const typename tensor_sizes<HEAD_DIM, WARPS>::scores &weights,
                                const T *queries, int first_query)
{
    // [student: add_rows]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    unsigned from = shared_address(queries);
#pragma unroll
    for (int n = 0; n < size::SUB / 8; n += 2) {
        struct fragment_a a[size::M_TILES];
        for (int m = 0; m < size::M_TILES; m++)
            for (int x = 0; x < 4; x++)
                a[m].x[x] = pack(weights[m][n + x / 2][x % 2 * 2], weights[m][n + x / 2][x % 2 * 2 + 1], T());
#pragma unroll
        for (int column = 0; column < HEAD_DIM / 8; column += 2) {
            struct fragment_b b = load_b<size::ROW_BYTES>(from, first_query + 8 * n, column);
            for (int m = 0; m < size::M_TILES; m++) {
                multiply_add(sum[m][column], a[m], b, 0, T());
                multiply_add(sum[m][column + 1], a[m], b, 1, T());
            }
        }
    }
    // [/student]
}

/** dQ / scale of the tile of a step, dS K: a warp has 32 queries by DQ_COLUMNS. Register r goes to element r * THREADS + thread. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_dq(const struct attention_backward_args &args, const struct backward_plan &plan,
                              const struct walk &walk, int step,
                              const struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles)
{
    // [student: add_dq]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    unsigned from_ds = shared_address(tiles->ds[step % size::DS_STAGES]), from_k = shared_address(tiles->k);
    int warp = (int)threadIdx.x / 32, query = warp % 2 * 32, first_column = warp / 2 * size::DQ_COLUMNS;
    float dq[2][size::DQ_COLUMNS / 8][4] = {};
#pragma unroll 4
    for (int key = 0; key < size::TILE_KV; key += 16) {
        struct fragment_a a[2];
        for (int m = 0; m < 2; m++)
            a[m] = load_a_transposed<size::DS_BYTES>(from_ds, key, (query + 16 * m) / 8);
#pragma unroll
        for (int n = 0; n < size::DQ_COLUMNS / 8; n += 2) {
            struct fragment_b b = load_b<size::ROW_BYTES>(from_k, key, first_column / 8 + n);
            for (int m = 0; m < 2; m++) {
                multiply_add(dq[m][n], a[m], b, 0, T());
                multiply_add(dq[m][n + 1], a[m], b, 1, T());
            }
        }
    }
    int bh = walk.bh + step / walk.q_tiles, tile = walk.first_q_tile + step % walk.q_tiles;
    float *at = accumulator_of<HEAD_DIM>(args, plan, walk.slice, bh, tile * TILE_Q) + threadIdx.x;
#pragma unroll
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < size::DQ_COLUMNS / 8; n++)
            for (int y = 0; y < 4; y++, at += size::THREADS)
                accumulate(at, dq[m][n][y], args.deterministic, walk.first_visit);
    // [/student]
}

/** A tile of keys: all queries that see it, then dK and dV. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void tensor_tile(const struct attention_backward_args &args,
                                   const struct backward_plan &plan, const struct walk &walk, float scale,
                                   struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles)
{
    // [student: tensor_tile]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    typename size::sums dk = {}, dv = {};
    int early = (int)threadIdx.x < size::THREADS / 2; // w or w + 4, which share a quarter of an SM
    for (int step = 0; step < walk.steps; step++) {
        int stage = step % size::STAGES, tile = walk.first_q_tile + step % walk.q_tiles;
        wait_for_copies<0>();
        __syncthreads(); // all copies have arrived, the last step's dS is complete; the other stage and dS have been read
        if (size::STAGES == 2 && step + 1 < walk.steps) load_queries(args, plan, walk, step + 1, tiles);
        int dq_is_due = size::DS_STAGES == 2 && step > 0 && args.dq != NULL; // that of the step before
        if (dq_is_due && early) add_dq(args, plan, walk, step - 1, tiles);
#pragma unroll 1
        for (int sub = 0; sub < TILE_Q; sub += size::SUB) {
            typename size::scores s = {}, dp = {};
            multiply_rows<T, HEAD_DIM, WARPS>(s, tiles->k, tiles->q[stage], sub);
            multiply_rows<T, HEAD_DIM, WARPS>(dp, tiles->v, tiles->dout[stage], sub);
            weigh<T, HEAD_DIM, WARPS>(args, tiles->terms[stage] + sub, walk.first_key, tile * TILE_Q + sub,
                                      scale, s, dp);
            add_rows<T, HEAD_DIM, WARPS>(dv, s, tiles->dout[stage], sub);
            share_ds<T, HEAD_DIM, WARPS>(dp, sub, tiles->ds[step % size::DS_STAGES]);
            add_rows<T, HEAD_DIM, WARPS>(dk, dp, tiles->q[stage], sub);
        }
        if (dq_is_due && !early) add_dq(args, plan, walk, step - 1, tiles);
        if (size::DS_STAGES == 2) continue;
        __syncthreads(); // dS is complete
        if (size::STAGES == 1 && step + 1 < walk.steps) load_queries(args, plan, walk, step + 1, tiles);
        if (args.dq != NULL) add_dq(args, plan, walk, step, tiles);
    }
    if (size::DS_STAGES == 2 && walk.steps > 0 && args.dq != NULL) {
        __syncthreads(); // the last dS is complete
        add_dq(args, plan, walk, walk.steps - 1, tiles);
    }
    write_rows<T, HEAD_DIM, WARPS>(args.dk, walk, args.kv_len, scale, dk);
    write_rows<T, HEAD_DIM, WARPS>(args.dv, walk, args.kv_len, 1.0f, dv);
    // [/student]
}

/** As f32_kernel(), on tensor cores: copies begin here, tensor_tile() does the rest. */
template <typename T, int HEAD_DIM, int WARPS>
__global__ void __launch_bounds__(WARPS * 32, tensor_sizes<HEAD_DIM, WARPS>::BLOCKS)
    tensor_kernel(struct attention_backward_args args, struct backward_plan plan, float scale)
{
#if HAS_MATRIX_FRAGMENTS
    // [student: tensor_kernel]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    extern __shared__ __align__(256) unsigned char shared[];
    struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles = (struct tensor_tiles<T, HEAD_DIM, WARPS> *)shared;
    int first = (int)blockIdx.x / (args.batch * args.kv_heads);
    for (int tile = first; tile * size::TILE_KV < args.kv_len; tile += plan.steps) {
        struct walk walk = find_walk(args, tile, size::TILE_KV, TILE_Q);
        size_t first_row = (size_t)walk.kv_bh * args.kv_len + walk.first_key;
        int keys = args.kv_len - walk.first_key;
        __syncthreads(); // the tile of keys before has been read
        copy_rows<T, HEAD_DIM, size::TILE_KV, size::THREADS>(tiles->k, args.k, first_row, keys);
        copy_rows<T, HEAD_DIM, size::TILE_KV, size::THREADS>(tiles->v, args.v, first_row, keys);
        load_queries(args, plan, walk, 0, tiles); // closes the group of copies
        tensor_tile(args, plan, walk, scale, tiles);
    }
    // [/student]
#endif
}

/* ---- after: dq from its accumulators ------------------------------------------------------------------- */

/** Two elements of dq per thread. The slices are added in their order: so the sum has the same bits every time. */
template <typename T, int HEAD_DIM, int WARPS>
__global__ void __launch_bounds__(ROW_THREADS)
    finish_kernel(struct attention_backward_args args, struct backward_plan plan, float scale, int tile_kv)
{
    // [student: finish_kernel]
    constexpr int BLOCKS = TILE_Q * HEAD_DIM / 2 / ROW_THREADS; // of a tile
    int tile = (int)blockIdx.x / BLOCKS, pair = (int)(blockIdx.x % BLOCKS * ROW_THREADS + threadIdx.x);
    struct pair_place place = place_of_pair<HEAD_DIM, WARPS>(pair);
    int bh = tile / plan.q_tiles, first = tile % plan.q_tiles * TILE_Q,
        last = min(first + TILE_Q, args.q_len) - 1;
    int slices = args.deterministic ? min(plan.slices, divide_up(keys_seen(args, last), tile_kv)) : 1;
    float low = 0.0f, high = 0.0f;
    if (first + place.row >= args.q_len) return; // nobody has written that
    for (int slice = 0; slice < slices; slice++) {
        const float *from = accumulator_of<HEAD_DIM>(args, plan, slice, bh, first);
        low += from[place.first];
        high += from[place.second];
    }
    size_t row = (size_t)bh * args.q_len + first + place.row;
    store_pair((T *)args.dq + row * HEAD_DIM + place.column, low * scale, high * scale);
    // [/student]
}

/** A thread per two elements of dq; nothing without dq. WARPS is that of tensor_kernel, 0 for f32_kernel. */
template <typename T, int HEAD_DIM, int WARPS>
static enum kernel_status finish(const struct attention_backward_args *args, const struct backward_plan &plan,
                                 int tile_kv, cudaStream_t stream)
{
    int blocks = args->batch * args->heads * plan.q_tiles * (TILE_Q * HEAD_DIM / 2 / ROW_THREADS);
    if (args->dq != NULL)
        finish_kernel<T, HEAD_DIM, WARPS>
            <<<(unsigned)blocks, ROW_THREADS, 0, stream>>>(*args, plan, backward_scale(args), tile_kv);
    return launch_status();
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** The three kernels of f32. */
template <int HEAD_DIM>
static enum kernel_status launch_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    // [student: launch_f32]
    struct backward_plan plan = make_plan(args, F32_TILE_KV);
    int bytes = (int)sizeof(struct f32_tiles<HEAD_DIM>);
    if (cudaFuncSetAttribute(f32_kernel<HEAD_DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    prepare<float, HEAD_DIM>(args, plan, stream);
    unsigned blocks = (unsigned)(args->batch * args->kv_heads * plan.steps);
    f32_kernel<HEAD_DIM><<<blocks, F32_THREADS, (size_t)bytes, stream>>>(*args, plan, backward_scale(args));
    return finish<float, HEAD_DIM, 0>(args, plan, F32_TILE_KV, stream);
    // [/student]
}

/** The three kernels of f16 or bf16. */
template <typename T, int HEAD_DIM, int WARPS>
static enum kernel_status launch_tensor(const struct attention_backward_args *args, cudaStream_t stream)
{
    // [student: launch_tensor]
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    struct backward_plan plan = make_plan(args, size::TILE_KV);
    int bytes = (int)sizeof(struct tensor_tiles<T, HEAD_DIM, WARPS>); // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(tensor_kernel<T, HEAD_DIM, WARPS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    prepare<T, HEAD_DIM>(args, plan, stream);
    unsigned blocks = (unsigned)(args->batch * args->kv_heads * plan.steps);
    tensor_kernel<T, HEAD_DIM, WARPS>
        <<<blocks, size::THREADS, (size_t)bytes, stream>>>(*args, plan, backward_scale(args));
    return finish<T, HEAD_DIM, WARPS>(args, plan, size::TILE_KV, stream);
    // [/student]
}

/** The kernels of a storage type. Where a block cannot have the memory of 8 warps, 4 warps have half as many keys. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_backward_args *args, cudaStream_t stream)
{
    if constexpr (sizeof(T) == sizeof(float))
        return launch_f32<HEAD_DIM>(args, stream);
    else if (HEAD_DIM == 128 && device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
                                    (int)sizeof(struct tensor_tiles<T, 128, 8>))
        return launch_tensor < T, HEAD_DIM, HEAD_DIM == 128 ? 8 : 4 > (args, stream);
    else
        return launch_tensor<T, HEAD_DIM, 4>(args, stream);
}

/** Checks the arguments and finds the kernels for head_dim. */
template <typename T>
static enum kernel_status backward(const struct attention_backward_args *args, enum dtype dtype,
                                   cudaStream_t stream)
{
    enum kernel_status status = attention_backward_args_check(args, sizeof(uint4), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    if (dtype != DTYPE_F32 && device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
        return KERNEL_UNSUPPORTED_ARCHITECTURE;
    status = attention_backward_args_check(args, sizeof(uint4), attention_backward_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    switch (args->head_dim) { // tile sizes must be known when compiling
    case 32:
        return launch<T, 32>(args, stream);
    case 64:
        return launch<T, 64>(args, stream);
    default:
        return launch<T, 128>(args, stream);
    }
}

size_t attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    // [student: workspace_bytes]
    size_t rows = args == NULL ? 0 : attention_backward_padded_rows(args);
    if (rows == 0) return 0; // extents that are refused
    size_t accumulators = args->dq == NULL ? 0 : (size_t)count_slices(args);
    return rows * (sizeof(struct row_terms) + accumulators * (size_t)args->head_dim * sizeof(float));
    // [/student]
}

enum kernel_status attention_backward_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<float>(args, DTYPE_F32, stream);
}

enum kernel_status attention_backward_f16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<__half>(args, DTYPE_F16, stream);
}

enum kernel_status attention_backward_bf16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

// [student: head]
/*
 * The two products of attention through tiles in shared memory; softmax stays as it was.
 * A block computes a tile of 64 x 64 results. It loads a k-slice of both factors into shared memory once, and
 * there each loaded element serves 64 results, where in lesson 01 it served one.
 *
 *                       32          K^T (or V)
 *                     +----+     +--------------+
 *      one k-slice: 64 | Q  |  x  | 32 x 64      |   then the next 32 of the inner dimension ...
 *                     +----+     +--------------+
 *
 *      one thread: 4 x 4 results, 16 apart:    rows ty, ty + 16, ...   columns tx, tx + 16, ...
 *
 * Paper: Vaswani et al. 2017, section 3.2.1. Tiles: Kirk and Hwu, "Programming Massively Parallel
 * Processors". Run:   build/bin/warpwise check 02 --kernel solutions/02_tiled_attention/tiled_attention.cu
 */
// [/student]
#include "tiled_attention.h"

enum {
    TILE = 64,      // results a block computes: TILE rows of queries by TILE columns
    TILE_K = 32,    // length of a k-slice: elements of the inner dimension in shared memory at a time
    PAD = 1,        // a tile row is one float longer than its data: a column then crosses all banks
    BLOCK_DIM = 16, // the block is BLOCK_DIM x BLOCK_DIM threads
    THREAD_TILE = TILE / BLOCK_DIM,  // a thread computes THREAD_TILE x THREAD_TILE results
    THREADS = BLOCK_DIM * BLOCK_DIM, // threads in a block of the two products
    SOFTMAX_THREADS = 256, // threads that share a row; a power of two, because the reduction halves it
    MAX_GRID_Y = 65535     // the hardware's limit; gridDim.x may be as large as 2^31 - 1
};

static_assert(TILE % BLOCK_DIM == 0, "every thread computes the same number of results");
static_assert((SOFTMAX_THREADS & (SOFTMAX_THREADS - 1)) == 0, "the tree reduction halves the block");

/** Which tile of queries a block works on, and where its head begins. */
struct query_tile {
    int bh;    // batch * heads + head
    int kv_bh; // batch * kv_heads + K/V head that this head reads
    int first; // first query of the tile
    int rows;  // queries in the tile: TILE, or what is left at the end of the head
};

/** How many tiles of @p size cover @p extent. */
__host__ __device__ inline int divide_up(int extent, int size)
{
    return extent / size + (extent % size != 0);
}

/** How many keys query @p query of a head sees. A causal mask is aligned to the bottom right. */
__device__ inline int keys_seen(const struct attention_args &args, int query)
{
    if (!args.causal) return args.kv_len;
    return max(args.kv_len - (args.q_len - 1 - query), 0);
}

/** The tile of queries numbered @p index, counted through all heads. */
__device__ inline struct query_tile find_query_tile(const struct attention_args &args, int index)
{
    // [student: find_query_tile]
    int tiles = divide_up(args.q_len, TILE); // tiles of queries per head
    struct query_tile tile;
    tile.bh = index / tiles;
    tile.kv_bh = tile.bh / (args.heads / args.kv_heads); // as in lesson 01: heads = kv_heads * group
    tile.first = index % tiles * TILE;
    tile.rows = min(args.q_len - tile.first, (int)TILE);
    return tile;
    // [/student]
}

/** Query tiles go to gridDim.x (all heads together: no more than there are rows), columns to gridDim.y. */
inline dim3 product_grid(const struct attention_args *args, int columns)
{
    int query_tiles = args->batch * args->heads * divide_up(args->q_len, TILE);
    int column_tiles = divide_up(columns, TILE);
    return dim3((unsigned)query_tiles, (unsigned)(column_tiles < MAX_GRID_Y ? column_tiles : MAX_GRID_Y));
}

/** How the launch just made went. Does not wait for the kernel. */
inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** The checks that all parts make. */
static enum kernel_status check_part(const struct attention_args *args, const float *scores)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (scores == NULL) return KERNEL_INVALID_CONFIG;
    return is_aligned(scores, sizeof(float)) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/* ---- what both products share ----------------------------------------------------------------------- */

/**
 * Copies the part of a row-major matrix that begins at (row, column) into a tile; what lies outside the
 * matrix becomes 0. Neighbouring threads copy neighbouring elements, so that a warp reads whole lines.
 */
template <int ROWS, int COLUMNS>
__device__ inline void load_tile(float (*tile)[COLUMNS + PAD], // [ROWS][COLUMNS]
                                 const float *matrix,          // [rows, columns]
                                 int row, int rows, int column, int columns)
{
    static_assert(ROWS * COLUMNS % THREADS == 0, "every thread copies the same number of elements");
    // [student: load_tile]
    constexpr int STEP = THREADS / COLUMNS; // rows that the block copies at a time
    int r = (int)threadIdx.x / COLUMNS, c = (int)threadIdx.x % COLUMNS;
    int rows_left = c < columns - column ? rows - row : 0; // 0: nothing in this thread's column
    const float *from = matrix + ((size_t)row + r) * columns + column + c;
    for (int i = 0; i < ROWS; i += STEP) {
        tile[r + i][c] = r + i < rows_left ? *from : 0.0f;
        from += (size_t)STEP * columns;
    }
    // [/student]
}

/* ---- scores: S = scale * Q K^T ---------------------------------------------------------------------- */

/** sum[i][j] += row ty + i * BLOCK_DIM of the k-slice of Q times row tx + j * BLOCK_DIM of that of K. */
__device__ inline void multiply_q_k(float sum[THREAD_TILE][THREAD_TILE],
                                    float (*q_tile)[TILE_K + PAD], // [TILE][TILE_K]
                                    float (*k_tile)[TILE_K + PAD]) // [TILE][TILE_K]
{
    // [student: multiply_q_k]
    int tx = (int)threadIdx.x % BLOCK_DIM, ty = (int)threadIdx.x / BLOCK_DIM;
    for (int d = 0; d < TILE_K; d++) {
        float q[THREAD_TILE], k[THREAD_TILE];
        for (int i = 0; i < THREAD_TILE; i++) q[i] = q_tile[ty + i * BLOCK_DIM][d];
        // 16 lanes read 16 rows of one column: banks (33 tx + d) % 32, all different thanks to the pad.
        for (int j = 0; j < THREAD_TILE; j++) k[j] = k_tile[tx + j * BLOCK_DIM][d];
        for (int i = 0; i < THREAD_TILE; i++)
            for (int j = 0; j < THREAD_TILE; j++) sum[i][j] += q[i] * k[j];
    }
    // [/student]
}

/** Writes a thread's scores, with -infinity for masked keys. */
__device__ inline void store_scores(const struct attention_args &args, struct query_tile tile, int first_key,
                                    float scale, float sum[THREAD_TILE][THREAD_TILE],
                                    float *s_bh) // [q_len, kv_len]
{
    // [student: store_scores]
    int tx = (int)threadIdx.x % BLOCK_DIM, ty = (int)threadIdx.x / BLOCK_DIM;
    for (int i = 0; i < THREAD_TILE && ty + i * BLOCK_DIM < tile.rows; i++) {
        int query = tile.first + ty + i * BLOCK_DIM;
        int seen = keys_seen(args, query) - first_key; // keys seen from the tile's first column on
        float *s_row = s_bh + (size_t)query * args.kv_len + first_key; // [kv_len - first_key]
        for (int j = 0; j < THREAD_TILE; j++) {
            int column = tx + j * BLOCK_DIM;
            if (column < args.kv_len - first_key)
                s_row[column] = column < seen ? scale * sum[i][j] : -INFINITY;
        }
    }
    // [/student]
}

/** Block (x, y) computes the scores of query tile x and key tile y. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    // [student: scores_kernel]
    __shared__ float q_tile[TILE][TILE_K + PAD];
    __shared__ float k_tile[TILE][TILE_K + PAD];
    struct query_tile tile = find_query_tile(args, (int)blockIdx.x);
    size_t q_rows = (size_t)tile.bh * args.q_len, kv_rows = (size_t)tile.kv_bh * args.kv_len;
    const float *q_bh = (const float *)args.q + q_rows * args.head_dim;  // [q_len, head_dim]
    const float *k_bh = (const float *)args.k + kv_rows * args.head_dim; // [kv_len, head_dim]
    float *s_bh = scores + q_rows * args.kv_len;                         // [q_len, kv_len]
    int most = keys_seen(args, tile.first + tile.rows - 1); // the tile's last query sees the most keys

    // One iteration, unless kv_len is beyond MAX_GRID_Y * TILE (4 million).
    for (int y = (int)blockIdx.y; y < divide_up(args.kv_len, TILE); y += (int)gridDim.y) {
        float sum[THREAD_TILE][THREAD_TILE] = {};
        int slices = y * TILE < most ? divide_up(args.head_dim, TILE_K) : 0; // 0: nobody sees these keys
        for (int slice = 0; slice < slices; slice++) {
            load_tile<TILE, TILE_K>(q_tile, q_bh, tile.first, args.q_len, slice * TILE_K, args.head_dim);
            load_tile<TILE, TILE_K>(k_tile, k_bh, y * TILE, most, slice * TILE_K, args.head_dim);
            __syncthreads(); // both slices are complete before anybody multiplies
            multiply_q_k(sum, q_tile, k_tile);
            __syncthreads(); // everybody has multiplied before the next slice overwrites this one
        }
        store_scores(args, tile, y * TILE, scale, sum, s_bh);
    }
    // [/student]
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: scores_launch]
    dim3 grid = product_grid(args, args->kv_len);
    scores_kernel<<<grid, THREADS, 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
    // [/student]
}

/* ---- softmax: every row of S becomes P, in place ---------------------------------------------------- */

/** The largest @p value of the block, known to every thread. All threads must call it. */
__device__ inline float block_max(float value)
{
    // [student: block_max]
    __shared__ float scratch[SOFTMAX_THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads(); // all values are there before anybody reads a neighbour's
    for (int stride = SOFTMAX_THREADS / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < (unsigned)stride)
            scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + stride]);
        __syncthreads(); // this level is complete before the next one reads it
    }
    return scratch[0];
    // [/student]
}

/** The sum of @p value over the block, known to every thread. All threads must call it. */
__device__ inline float block_sum(float value)
{
    // [student: block_sum]
    __shared__ float scratch[SOFTMAX_THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads(); // all values are there before anybody reads a neighbour's
    for (int stride = SOFTMAX_THREADS / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < (unsigned)stride) scratch[threadIdx.x] += scratch[threadIdx.x + stride];
        __syncthreads(); // this level is complete before the next one reads it
    }
    return scratch[0];
    // [/student]
}

/** One block turns one row into probabilities in three passes: the maximum, the sum, the division. */
__global__ void softmax_kernel(float *scores, // [batch * heads * q_len, kv_len]
                               float *lse,    // [batch * heads * q_len] or NULL
                               int kv_len)
{
    // [student: softmax_kernel]
    float *row = scores + (size_t)blockIdx.x * kv_len; // [kv_len]

    float largest = -INFINITY;
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS)
        largest = fmaxf(largest, row[key]);
    largest = block_max(largest);

    // A row of nothing but -infinity must not compute -inf - -inf, which is NaN. Subtract 0 there instead.
    // fmaxf drops a NaN, but exp does not: the sum becomes NaN and with it the whole row, as it should.
    float shift = largest == -INFINITY ? 0.0f : largest;
    float sum = 0.0f;
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS) {
        float power = expf(row[key] - shift);
        row[key] = power; // the third pass of this same thread reads it back
        sum += power;
    }
    sum = block_sum(sum);

    float factor = sum == 0.0f ? 0.0f : 1.0f / sum; // a row that sees nothing becomes zeros
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS) row[key] *= factor;
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = largest + logf(sum); // log 0 = -infinity
    // [/student]
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: softmax_launch]
    int rows = args->batch * args->heads * args->q_len;
    softmax_kernel<<<(unsigned)rows, SOFTMAX_THREADS, 0, stream>>>(scores, args->lse, args->kv_len);
    return launch_status();
    // [/student]
}

/* ---- output: O = P V -------------------------------------------------------------------------------- */

/**
 * sum[i][j] += row ty + i * BLOCK_DIM of the k-slice of P times column tx + j * BLOCK_DIM of that of V. Row i
 * sees only seen[i] keys of the k-slice. The others are skipped, not multiplied by 0: 0 * NaN would be NaN.
 */
__device__ inline void multiply_p_v(float sum[THREAD_TILE][THREAD_TILE], int seen[THREAD_TILE],
                                    float (*p_tile)[TILE_K + PAD], // [TILE][TILE_K]
                                    float (*v_tile)[TILE + PAD])   // [TILE_K][TILE]
{
    // [student: multiply_p_v]
    int tx = (int)threadIdx.x % BLOCK_DIM, ty = (int)threadIdx.x / BLOCK_DIM;
    for (int key = 0; key < TILE_K; key++) {
        float p[THREAD_TILE], v[THREAD_TILE];
        for (int i = 0; i < THREAD_TILE; i++) p[i] = p_tile[ty + i * BLOCK_DIM][key];
        for (int j = 0; j < THREAD_TILE; j++)
            v[j] = v_tile[key][tx + j * BLOCK_DIM]; // neighbours in 16 different banks
        for (int i = 0; i < THREAD_TILE; i++)
            for (int j = 0; j < THREAD_TILE; j++)
                sum[i][j] = key < seen[i] ? sum[i][j] + p[i] * v[j] : sum[i][j];
    }
    // [/student]
}

/** Adds up P V over all k-slices that the tile's queries see; columns begin at @p column. */
__device__ inline void sum_k_slices(const struct attention_args &args, struct query_tile tile, int column,
                                    const float *p_bh, // [q_len, kv_len]
                                    const float *v_bh, // [kv_len, head_dim]
                                    float sum[THREAD_TILE][THREAD_TILE])
{
    // [student: sum_k_slices]
    __shared__ float p_tile[TILE][TILE_K + PAD];
    __shared__ float v_tile[TILE_K][TILE + PAD];
    int ty = (int)threadIdx.x / BLOCK_DIM;
    int most = keys_seen(args, tile.first + tile.rows - 1); // the tile's last query sees the most keys
    for (int slice = 0; slice < divide_up(most, TILE_K); slice++) {
        int seen[THREAD_TILE];
        for (int i = 0; i < THREAD_TILE; i++) {
            // Rows past the end are computed, but never stored.
            int row = min(ty + i * BLOCK_DIM, tile.rows - 1);
            seen[i] = keys_seen(args, tile.first + row) - slice * TILE_K;
        }
        load_tile<TILE, TILE_K>(p_tile, p_bh, tile.first, args.q_len, slice * TILE_K, args.kv_len);
        load_tile<TILE_K, TILE>(v_tile, v_bh, slice * TILE_K, most, column, args.head_dim);
        __syncthreads(); // both slices are complete before anybody multiplies
        multiply_p_v(sum, seen, p_tile, v_tile);
        __syncthreads(); // everybody has multiplied before the next slice overwrites this one
    }
    // [/student]
}

/** Block (x, y) computes 64 columns of the output of query tile x. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    // [student: output_kernel]
    int tx = (int)threadIdx.x % BLOCK_DIM, ty = (int)threadIdx.x / BLOCK_DIM;
    struct query_tile tile = find_query_tile(args, (int)blockIdx.x);
    size_t q_rows = (size_t)tile.bh * args.q_len, kv_rows = (size_t)tile.kv_bh * args.kv_len;
    const float *p_bh = probs + q_rows * args.kv_len;                    // [q_len, kv_len]
    const float *v_bh = (const float *)args.v + kv_rows * args.head_dim; // [kv_len, head_dim]
    float *o_bh = (float *)args.out + q_rows * args.head_dim;            // [q_len, head_dim]

    // One iteration, unless head_dim is beyond MAX_GRID_Y * TILE (4 million).
    for (int y = (int)blockIdx.y; y < divide_up(args.head_dim, TILE); y += (int)gridDim.y) {
        float sum[THREAD_TILE][THREAD_TILE] = {};
        sum_k_slices(args, tile, y * TILE, p_bh, v_bh, sum);
        for (int i = 0; i < THREAD_TILE && ty + i * BLOCK_DIM < tile.rows; i++) {
            float *o_row = o_bh + ((size_t)tile.first + ty + i * BLOCK_DIM) * args.head_dim + y * TILE;
            for (int j = 0; j < THREAD_TILE; j++)
                if (tx + j * BLOCK_DIM < args.head_dim - y * TILE) o_row[tx + j * BLOCK_DIM] = sum[i][j];
        }
    }
    // [/student]
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    // [student: output_launch]
    output_kernel<<<product_grid(args, args->head_dim), THREADS, 0, stream>>>(*args, probs);
    return launch_status();
    // [/student]
}

/* ---- the whole -------------------------------------------------------------------------------------- */

size_t tiled_attention_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1) return 0;
    uint64_t bytes = sizeof(float);
    int fits = multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->kv_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

enum kernel_status tiled_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status =
        attention_args_check(args, sizeof(float), tiled_attention_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    float *scores = (float *)args->workspace; // [batch, heads, q_len, kv_len]
    status = tiled_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_output_f32(args, scores, stream);
    return status;
}

// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 02: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 02                 judges what is there
 *     build/bin/warpwise check 02 --case NAME     looks at one case
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
    /* TODO: tiles are counted head by head. Find the head, its K/V head, the tile's first query, and how
     * many queries the tile has: the last one of a head may be short. */
    struct query_tile tile = {0, 0, 0, 0};
    (void)args, (void)index;
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
    /* TODO: let the block copy ROWS x COLUMNS elements, THREADS at a time. Give neighbouring threads
     * neighbouring columns, and write 0 for what lies outside the matrix. Who must wait for whom is the
     * caller's business. */
    (void)tile, (void)matrix, (void)row, (void)rows, (void)column, (void)columns;
    // [/student]
}

/* ---- scores: S = scale * Q K^T ---------------------------------------------------------------------- */

/** sum[i][j] += row ty + i * BLOCK_DIM of the k-slice of Q times row tx + j * BLOCK_DIM of that of K. */
__device__ inline void multiply_q_k(float sum[THREAD_TILE][THREAD_TILE],
                                    float (*q_tile)[TILE_K + PAD], // [TILE][TILE_K]
                                    float (*k_tile)[TILE_K + PAD]) // [TILE][TILE_K]
{
    // [student: multiply_q_k]
    /* TODO: for each of the TILE_K columns read THREAD_TILE elements of both tiles into registers and add
     * their THREAD_TILE x THREAD_TILE products to sum. Which banks do the 32 lanes of a warp read? */
    (void)sum, (void)q_tile, (void)k_tile;
    // [/student]
}

/** Writes a thread's scores, with -infinity for masked keys. */
__device__ inline void store_scores(const struct attention_args &args, struct query_tile tile, int first_key,
                                    float scale, float sum[THREAD_TILE][THREAD_TILE],
                                    float *s_bh) // [q_len, kv_len]
{
    // [student: store_scores]
    /* TODO: write scale * sum[i][j] to its place in S, or -infinity if the query does not see the key. Leave
     * out rows past the tile's last query and columns past the last key. */
    (void)args, (void)tile, (void)first_key, (void)scale, (void)sum, (void)s_bh;
    // [/student]
}

/** Block (x, y) computes the scores of query tile x and key tile y. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    // [student: scores_kernel]
    /* TODO: declare the two tiles in shared memory, go through head_dim one k-slice after the other (load
     * both, multiply), and store the result. Two barriers per k-slice: which two accesses does each keep apart? */
    (void)args, (void)scale, (void)scores;
    // [/student]
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: scores_launch]
    /* TODO: launch scores_kernel on product_grid(args, args->kv_len); then return launch_status(). */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- softmax: every row of S becomes P, in place ---------------------------------------------------- */

/** The largest @p value of the block, known to every thread. All threads must call it. */
__device__ inline float block_max(float value)
{
    // [student: block_max]
    /* TODO: put every thread's value into shared memory and halve the number of candidates until one is
     * left. Every thread must come to every __syncthreads(), also those that have nothing left to compare. */
    return value;
    // [/student]
}

/** The sum of @p value over the block, known to every thread. All threads must call it. */
__device__ inline float block_sum(float value)
{
    // [student: block_sum]
    /* TODO: the same with + in place of fmaxf. */
    return value;
    // [/student]
}

/** One block turns one row into probabilities in three passes: the maximum, the sum, the division. */
__global__ void softmax_kernel(float *scores, // [batch * heads * q_len, kv_len]
                               float *lse,    // [batch * heads * q_len] or NULL
                               int kv_len)
{
    // [student: softmax_kernel]
    /* TODO: find the row's largest score, replace every score x by exp(x - largest) and add those up, then
     * divide by the sum. Two rows need care: one of nothing but -infinity becomes zeros, and one with a NaN
     * becomes NaN throughout. Thread 0 writes largest + log(sum) to lse, if lse is not NULL. */
    (void)scores, (void)lse, (void)kv_len;
    // [/student]
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: softmax_launch]
    /* TODO: bring your softmax over from lesson 01: nothing changes. */
    (void)stream;
    return KERNEL_NOT_STARTED;
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
    /* TODO: as multiply_q_k(), but add a product only where key < seen[i]. */
    (void)sum, (void)seen, (void)p_tile, (void)v_tile;
    // [/student]
}

/** Adds up P V over all k-slices that the tile's queries see; columns begin at @p column. */
__device__ inline void sum_k_slices(const struct attention_args &args, struct query_tile tile, int column,
                                    const float *p_bh, // [q_len, kv_len]
                                    const float *v_bh, // [kv_len, head_dim]
                                    float sum[THREAD_TILE][THREAD_TILE])
{
    // [student: sum_k_slices]
    /* TODO: go through the keys in k-slices, as far as the tile's last query sees. For every k-slice load a
     * tile of P and one of V, and find out how many of its keys each of your rows sees. */
    (void)args, (void)tile, (void)column, (void)p_bh, (void)v_bh, (void)sum;
    // [/student]
}

/** Block (x, y) computes 64 columns of the output of query tile x. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    // [student: output_kernel]
    /* TODO: find your tile and where its P, V and O begin, let sum_k_slices() do the work, and write the rows
     * and columns that exist. */
    (void)args, (void)probs;
    // [/student]
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    // [student: output_launch]
    /* TODO: launch output_kernel on product_grid(args, args->head_dim). */
    (void)stream;
    return KERNEL_NOT_STARTED;
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

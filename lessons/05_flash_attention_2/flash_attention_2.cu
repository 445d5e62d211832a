// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 05: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 05                 judges what is there
 *     build/bin/warpwise check 05 --case NAME     looks at one case
 */
// [/student]
#include "flash_attention_2.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "lane_places.h" // which rows, keys and columns a lane has

enum {
    VECTOR = 4,          // floats that one load from shared memory brings
    PAD = 4,             // floats after each row of Q, K and V: the next row begins 4 banks further
    TILE_P = 16,         // k-slice of P V: keys whose probabilities pass through shared memory at a time
    P_PAD = 8,           // floats after each row of P: the next one begins 8 banks further
    MIN_BLOCKS = 2,      // per SM: the compiler may spend half of the registers on a block
    SHARED_BYTES = 65536 // what a block may have on every device from sm_75 on
};

#define LOG2_E 1.44269504f ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has
#define LN_2 0.69314718f   ///< 1 / LOG2_E

/** Sizes that depend on head_dim, such that O, S and the tiles fit in registers and shared memory. */
template <int HEAD_DIM> struct sizes {
    enum {
        ROWS = HEAD_DIM == 128 ? 4 : 8,      // query rows of a thread, ROW_LANES apart
        WARP_ROWS = ROW_LANES * ROWS,        // query rows of a warp
        TILE_Q = WARPS * WARP_ROWS,          // query rows of a block: 128, or 64 if head_dim is 128
        TILE_KV = HEAD_DIM == 128 ? 32 : 64, // keys of a tile
        KEYS = TILE_KV / COLUMN_LANES,       // keys of a thread, COLUMN_LANES apart
        COLUMNS = HEAD_DIM / COLUMN_LANES    // columns of O of a thread: groups of VECTOR, 32 apart
    };
};

/** What a block keeps in shared memory. kv holds first K, then V. */
template <int HEAD_DIM> struct shared_tiles {
    float q[sizes<HEAD_DIM>::TILE_Q][HEAD_DIM + PAD];
    float kv[sizes<HEAD_DIM>::TILE_KV][HEAD_DIM + PAD];
    float p[sizes<HEAD_DIM>::TILE_Q][TILE_P + P_PAD];
};

static_assert(sizeof(struct shared_tiles<32>) <= SHARED_BYTES, "a block must fit on every device");
static_assert(sizeof(struct shared_tiles<64>) <= SHARED_BYTES, "a block must fit on every device");
static_assert(sizeof(struct shared_tiles<128>) <= SHARED_BYTES, "a block must fit on every device");

/** What a thread knows of its rows. */
template <int HEAD_DIM> struct row_state {
    float m[sizes<HEAD_DIM>::ROWS];                           // largest score so far, times log2(e)
    float l[sizes<HEAD_DIM>::ROWS];                           // sum of exp2(score - m), this thread's keys
    float o[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS]; // sum of exp2(score - m) * V, all keys
};

/** Which tile of queries a block works on, and where its head begins. */
struct query_tile {
    int bh;    // batch * heads + head
    int kv_bh; // batch * kv_heads + K/V head that this head reads
    int first; // first query of the tile
    int rows;  // queries in the tile: TILE_Q, or what is left at the end of the head
};

/* ---- tiles -------------------------------------------------------------------------------------------- */

/**
 * The tile of queries of block @p index. Blocks start in the order of their numbers: with a causal mask the
 * last tiles of all heads have the most keys and begin first, so that short ones fill up the end.
 */
template <int TILE_Q>
__device__ inline struct query_tile find_query_tile(const struct attention_args &args, int index)
{
    // [student: find_query_tile]
    /* TODO: blocks are numbered through all heads of all sequences. Let the head be what changes fastest, and
     * count the tiles of a head from the last one down: block 0 takes the last tile of head 0. */
    (void)args, (void)index;
    struct query_tile tile = {};
    return tile;
    // [/student]
}

/**
 * Copies ROWS rows into a tile, as floats, times @p factor; rows that do not exist become zeros. A thread
 * first asks for all its 16-byte vectors, then stores: it waits once, not once per vector.
 */
template <typename T, int HEAD_DIM, int ROWS>
__device__ inline void load_tile(float (*tile)[HEAD_DIM + PAD], // [ROWS][HEAD_DIM]
                                 const T *from,                 // [rows, HEAD_DIM]
                                 int rows, float factor)
{
    constexpr int ELEMS = 16 / sizeof(T);                   // of a vector
    constexpr int ACROSS = HEAD_DIM / ELEMS;                // vectors of a row
    constexpr int THREAD_VECTORS = ROWS * ACROSS / THREADS; // vectors of a thread
    static_assert(THREAD_VECTORS * THREADS == ROWS * ACROSS,
                  "every thread copies the same number of vectors");
    // [student: load_tile]
    /* TODO: vector i of a thread is number threadIdx.x + i * THREADS of the tile. Load it as a uint4 if its
     * row exists, else make it zeros. When all are loaded, store them: a vector holds ELEMS elements; copy
     * it into an array of T, make floats of them with to_float(), multiply, store 4 at a time. */
    (void)tile, (void)from, (void)rows, (void)factor;
    // [/student]
}

/* ---- the lanes of a row ------------------------------------------------------------------------------- */

/** The largest @p value of the 8 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_max(float value)
{
    // [student: row_max]
    /* TODO: the lanes that share a row differ in bits 1, 2 and 3 of their number. */
    return value;
    // [/student]
}

/** The sum over the 8 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_sum(float value)
{
    // [student: row_sum]
    /* TODO: the same with +. */
    return value;
    // [/student]
}

/* ---- one tile of keys --------------------------------------------------------------------------------- */

/** S = Q K^T of a thread's rows and keys. */
template <int HEAD_DIM>
__device__ inline void multiply_q_k(float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                    const struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: multiply_q_k]
    /* TODO: begin at s = 0. For every 4 columns of head_dim load 4 floats of each of your rows and of each of
     * your keys, and add up the products. Your rows are first_row() + i * ROW_LANES, your keys
     * column_lane() + j * COLUMN_LANES. Write #pragma unroll 1 above the loop over head_dim: without it the
     * compiler keeps more in registers than there are. */
    (void)s, (void)tiles;
    // [/student]
}

/** Scores of keys that a row does not see become -infinity. @p seen counts from the tile's first key on. */
template <int HEAD_DIM>
__device__ inline void mask_scores(float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                   const int seen[sizes<HEAD_DIM>::ROWS])
{
    // [student: mask_scores]
    /* TODO: key column_lane() + j * COLUMN_LANES of the tile is seen by row i if it is below seen[i]. */
    (void)s, (void)seen;
    // [/student]
}

/** One step of online softmax: scores become exp2(score - m); l and O are corrected to the new m. */
template <int HEAD_DIM>
__device__ inline void update_rows(struct row_state<HEAD_DIM> *rows,
                                   float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS])
{
    // [student: update_rows]
    /* TODO: for each row: the new maximum over the old one, your scores and the other lanes'; the correction
     * exp2(old - new) for l and for every column of O; then s becomes exp2(s - new), and its sum goes to l.
     * Use shift_of(). l stays the sum over your own keys until the end: nobody needs more before that. */
    (void)rows, (void)s;
    // [/student]
}

/**
 * O += P V over the keys of one slice, which begins with key @p first of the tile. If MASKED, keys that a row
 * does not see are skipped: their p is 0, but 0 * NaN would be NaN.
 */
template <int HEAD_DIM, int MASKED>
__device__ inline void multiply_p_v(float o[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS],
                                    const int seen[sizes<HEAD_DIM>::ROWS],
                                    const struct shared_tiles<HEAD_DIM> *tiles, int first)
{
    // [student: multiply_p_v]
    /* TODO: like multiply_q_k, four keys at a time: 4 probabilities of each of your rows, then for each of
     * those keys the columns that are yours: 4 from column_lane() * 4 on, the next 4 a group of 32 further.
     * #pragma unroll 1 again, and #pragma unroll above the loop over the four keys. */
    (void)o, (void)seen, (void)tiles, (void)first;
    // [/student]
}

/** O += P V over the whole tile. A lane has p of 8 keys of each row and needs all: they pass through shared memory. */
template <int HEAD_DIM, int MASKED>
__device__ inline void add_values(struct row_state<HEAD_DIM> *rows,
                                  const float p[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                  const int seen[sizes<HEAD_DIM>::ROWS], struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: add_values]
    /* TODO: slice by slice: write your probabilities of the slice's 16 keys to tiles->p, and call
     * multiply_p_v. Only your own warp reads what you write: __syncwarp() suffices. You need two. Which two?
     */
    (void)rows, (void)p, (void)seen, (void)tiles;
    // [/student]
}

/** What a warp does with a tile of scores: mask them if need be, make them probabilities, add P V. */
template <int HEAD_DIM>
__device__ inline void add_tile(const struct attention_args &args, struct query_tile tile, int first_key,
                                float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                struct row_state<HEAD_DIM> *rows, struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: add_tile]
    /* TODO: if every query of the tile sees all TILE_KV keys: update_rows, add_values<HEAD_DIM, 0>. Otherwise
     * find out how many of these keys each of your rows sees, mask, and use add_values<HEAD_DIM, 1>. */
    (void)args, (void)tile, (void)first_key, (void)s, (void)rows, (void)tiles;
    // [/student]
}

/* ---- the end ------------------------------------------------------------------------------------------ */

/** Divides O by l, once, and writes a thread's part of it. All 32 lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void write_rows(const struct attention_args &args, struct query_tile tile,
                                  const struct row_state<HEAD_DIM> *rows)
{
    // [student: write_rows]
    /* TODO: the row's l is the sum over its 8 lanes. Divide O by it (a row that sees nothing becomes zeros),
     * store 4 columns at a time, and let one lane of the row write m * LN_2 + log(l) to lse, if wanted.
     * Rows past the end of the head are not stored; their lanes still take part in row_sum(). */
    (void)args, (void)tile, (void)rows;
    // [/student]
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** One block, one tile of queries: walks over the tiles of keys that its last query sees. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    /* TODO: find your tile; bring Q into shared memory, times scale * LOG2_E; then walk over the tiles of
     * keys up to the last one that your last query sees: K into shared memory, S, V into K's place, add_tile.
     * Where are barriers needed? All warps must come to all of them, also those without a row. */
    (void)args, (void)scale;
    // [/student]
}

/** Starts one block per tile of queries. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    /* TODO: one block per tile of queries, THREADS threads, sizeof(struct shared_tiles<HEAD_DIM>) bytes of
     * shared memory. More than 48 KB must be asked for with cudaFuncSetAttribute() before the launch. */
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(uint4), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    switch (args->head_dim) { // tile sizes must be known when compiling
    case 32:
        return launch<T, 32>(args, stream);
    case 64:
        return launch<T, 64>(args, stream);
    case 128:
        return launch<T, 128>(args, stream);
    default:
        return KERNEL_INVALID_DIMENSION;
    }
}

enum kernel_status flash_attention_2_f32(const struct attention_args *args, cudaStream_t stream)
{
    return attention<float>(args, DTYPE_F32, stream);
}

enum kernel_status flash_attention_2_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}

// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 12: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 12                 judges what is there
 *     build/bin/warpwise check 12 --case NAME     looks at one case
 */
// [/student]
#include "tensor_core_attention.h"

#include "kernel_launch.h"
#include "warp_rows.h" // which rows, keys and columns a lane has; warp_matrix.h: the instructions of fragments

enum { MIN_BLOCKS = 2 /* per SM: the compiler may spend half of the registers on a block */ };

#define LOG2_E 1.44269504f  ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has
#define LN_2 0.69314718f    ///< 1 / LOG2_E
#define SLACK 8.0f          ///< how far m may be below the largest score: weights are at most 2^8
#define FAR_AWAY 1048576.0f ///< if |m| is larger, m is rounded coarsely, and scores must be rounded alike

/* ---- tiles -------------------------------------------------------------------------------------------- */

/**
 * The tile of queries of block @p index. Blocks start in the order of their numbers: with a causal mask the last tiles
 * of all heads have the most keys and begin first. Without one, blocks that run together share a head's K and V in L2.
 */
template <int TILE_Q>
__device__ inline struct query_tile find_query_tile(const struct attention_args &args, int index)
{
    // [student: find_query_tile]
    /* TODO: with a causal mask as in lesson 05: the head changes fastest, and a head's tiles are counted from the last
     * one down. Without one the tile changes fastest. */
    (void)args, (void)index;
    struct query_tile tile = {};
    return tile;
    // [/student]
}

/** Where chunk @p chunk of row @p row lies. With a swizzle eight rows have it in eight different groups of banks. */
template <typename T, int HEAD_DIM> __device__ inline T *chunk_at(T (*tile)[HEAD_DIM], int row, int chunk)
{
    // [student: chunk_at]
    /* TODO: begin without a swizzle, &tile[row][chunk * CHUNK]: right, and slow. Change the column in the last
     * step, and along_row() with it. */
    (void)row, (void)chunk;
    return tile[0];
    // [/student]
}

/** @p address is that of chunk c of a row, c = 0 or 1; returned is that of chunk c + @p chunks, an even number. */
__device__ inline uint32_t along_row(uint32_t address, int chunks)
{
    // [student: along_row]
    /* TODO: without a swizzle 16 bytes per chunk. With one, the column changes as in chunk_at(): in the address that is
     * an exclusive or. */
    (void)chunks;
    return address;
    // [/student]
}

/** Begins to copy ROWS rows into a tile; rows that do not exist become zeros. */
template <typename T, int HEAD_DIM, int ROWS>
__device__ inline void load_tile(T (*tile)[HEAD_DIM], // [ROWS]
                                 const T *from,       // [rows, HEAD_DIM]
                                 int rows)
{
    constexpr int ACROSS = HEAD_DIM / CHUNK; // chunks of a row
    // [student: load_tile]
    /* TODO: thread t begins with chunk t % ACROSS of row t / ACROSS, and goes on THREADS / ACROSS rows further:
     * copy_16_bytes() to chunk_at() of the tile. A row that is not there is copied with `there` 0. */
    (void)tile, (void)from, (void)rows;
    // [/student]
}

/** The fragments A of this warp's rows of Q, 16 columns from 16 * @p step on. */
template <typename T, int HEAD_DIM>
__device__ inline void load_q(uint32_t a[sizes<HEAD_DIM>::ROW_BLOCKS][4], T (*q)[HEAD_DIM], int step)
{
    // [student: load_q]
    /* TODO: load_matrices() wants, from lane l, the address of row l % 8 of matrix l / 8. The four matrices of a
     * fragment A are rows 0 to 7 and 8 to 15 of the first chunk, then the same rows of the second. The warp's rows
     * begin at first_row_of_warp(), the chunks are 2 * step and the next: chunk_at(), shared_address(), along_row(). */
    (void)a, (void)q, (void)step;
    // [/student]
}

/* ---- the lanes of a row ------------------------------------------------------------------------------- */

/** The largest @p value of the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_max(float value)
{
    // [student: row_max]
    /* TODO: the lanes that share a row differ in bits 0 and 1 of their number. */
    return value;
    // [/student]
}

/** The sum over the 4 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_sum(float value)
{
    // [student: row_sum]
    /* TODO: the same with +. */
    return value;
    // [/student]
}

/* ---- one tile of keys --------------------------------------------------------------------------------- */

/** S = Q K^T of a warp's rows and the keys of a tile. */
template <typename T, int HEAD_DIM>
__device__ inline void multiply_q_k(struct scores<HEAD_DIM> *p, struct query_fragments<HEAD_DIM> *q,
                                    struct shared_tiles<T, HEAD_DIM> *tiles)
{
    // [student: multiply_q_k]
    /* TODO: begin with products of 0. For every step of 16 columns take the fragments A of Q (load them if they do not
     * stay). For every 16 keys load four matrices of K: keys 0 to 7 of both chunks, then keys 8 to 15 of both. That
     * is fragment B twice: multiply_add() for each block of rows. Write #pragma unroll above every loop: an array
     * whose index is not known when compiling is not in registers. */
    (void)p, (void)q, (void)tiles;
    // [/student]
}

/** Products of keys that a row does not see become -infinity. */
template <int HEAD_DIM>
__device__ inline void mask_scores(struct scores<HEAD_DIM> *p, const struct visible_keys<HEAD_DIM> *seen)
{
    // [student: mask_scores]
    /* TODO: element c of fragment j is key j * 8 + lane % 4 * 2 + c % 2; row i, c / 2 sees seen->row[i][c / 2] keys. */
    (void)p, (void)seen;
    // [/student]
}

/** The sums l and O refer to the old m of each row: they are corrected to the new one, @p m. */
template <int HEAD_DIM>
__device__ inline void raise_maxima(struct row_state<HEAD_DIM> *rows,
                                    const float m[sizes<HEAD_DIM>::ROW_BLOCKS][2])
{
    // [student: raise_maxima]
    /* TODO: for each row multiply l and every column of O by exp2(old m - new m); then store the new m. Use shift_of()
     * for the new one: a row may have seen no key yet. */
    (void)rows, (void)m;
    // [/student]
}

/** One step of online softmax: products become weights, exp2(scale * product - m), and are added to l. */
template <int HEAD_DIM>
__device__ inline void weigh_scores(struct scores<HEAD_DIM> *p, struct row_state<HEAD_DIM> *rows, float scale)
{
    // [student: weigh_scores]
    /* TODO: a row's new m is scale times the largest product of its four lanes, if that is more than SLACK above the old
     * m, and otherwise the old one: each row by itself. If m rises in any row of the warp, call raise_maxima(). Then
     * products become exp2_fast(scale * product - m), and each lane adds its own to its l. Subtract shift_of(m), not m.
     * fmaf() rounds once; if |m| is above FAR_AWAY, round scale * product by itself, __fmul_rn(), and then subtract. */
    (void)p, (void)rows, (void)scale;
    // [/student]
}

/** O += P V over the whole tile: two fragments C of P are a fragment A. */
template <typename T, int HEAD_DIM, int MASKED>
__device__ inline void add_values(struct row_state<HEAD_DIM> *rows, const struct scores<HEAD_DIM> *p,
                                  const struct visible_keys<HEAD_DIM> *seen, T (*v)[HEAD_DIM])
{
    // [student: add_values]
    /* TODO: for every 16 keys: pack the weights of two fragments C into a fragment A; for every 16 columns load four
     * matrices of V, transposed, and multiply_add(). If MASKED: leave out keys that no row of the warp sees; where not
     * every row sees all 16, ask any_special(), and if it says so call add_one_by_one() for each block of rows. */
    (void)rows, (void)p, (void)seen, (void)v;
    // [/student]
}

/** What a warp does with a tile of products: mask them if need be, make them weights, add P V. */
template <typename T, int HEAD_DIM, int MASKED>
__device__ inline void add_tile(struct row_state<HEAD_DIM> *rows, struct scores<HEAD_DIM> *p,
                                const struct attention_args &args, struct query_tile tile, int first_key,
                                float scale, T (*v)[HEAD_DIM])
{
    // [student: add_tile]
    /* TODO: find_visible() if MASKED; if the scale is negative, change the sign of the products by multiply_scores();
     * mask_scores() if MASKED; weigh_scores() with the scale's absolute value; add_values(). */
    (void)rows, (void)p, (void)args, (void)tile, (void)first_key, (void)scale, (void)v;
    // [/student]
}

/* ---- the end ------------------------------------------------------------------------------------------ */

/** Divides O by l, once, and writes a warp's rows of it by way of @p stage. All 32 lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void write_rows(const struct attention_args &args, struct query_tile tile,
                                  const struct row_state<HEAD_DIM> *rows, T (*stage)[HEAD_DIM])
{
    // [student: write_rows]
    /* TODO: the row's l is row_sum() of its lanes'. Multiply O by factor_of(l), which is 0 for a row that sees nothing,
     * pack pairs and store them in the warp's own rows of stage, at chunk_at(). Then read them back as uint4 and store
     * those: 16 bytes per lane. One lane of a row writes m * LN_2 + log(l) to lse, if wanted. Rows past the end of the
     * head are not stored. Two __syncwarp() are needed. Which two? */
    (void)args, (void)tile, (void)rows, (void)stage;
    // [/student]
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** One block, one tile of queries. The next tile of K or of V is always on its way while the block computes. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    /* TODO: declare dynamic shared memory, aligned to 128 bytes, for one struct shared_tiles<T, HEAD_DIM>. Find your
     * tile, start the copies of Q and of the first K, wait, and load the fragments of Q that stay (Q_STAYS). Then for
     * each tile of keys up to the last one that the tile's last query sees (keys_seen()): start V, multiply Q and K,
     * wait, start the next K, add_tile, wait. A tile of which every query sees all keys needs no mask. Where are
     * barriers needed? All warps must come to all of them, also those without a row. In the end write_rows. */
    (void)args, (void)scale;
    // [/student]
}

/** Starts one block per tile of queries. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    /* TODO: one block per tile of queries, THREADS threads, sizeof(struct shared_tiles<T, HEAD_DIM>) bytes of
     * shared memory. More than 48 KB must be asked for with cudaFuncSetAttribute() before the launch. The kernel's
     * scale is attention_scale(args) * LOG2_E. */
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim: tile sizes must be known when compiling. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, CHUNK * sizeof(T), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 64 && args->head_dim != 128 && args->head_dim != 256)
        return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    if (args->head_dim == 64) return launch<T, 64>(args, stream);
    if (args->head_dim == 128) return launch<T, 128>(args, stream);
    return launch<T, 256>(args, stream);
}

enum kernel_status tensor_core_attention_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}

enum kernel_status tensor_core_attention_bf16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

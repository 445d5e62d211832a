// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 04: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 04                 judges what is there
 *     build/bin/warpwise check 04 --case NAME     looks at one case
 */
// [/student]
#include "flash_attention_1.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "warp_reduce.h"
#include "call_check.h" // what the entry points refuse
#include "head_tiles.h" // sizes of tiles, what a warp keeps of its rows

/* ---- a visit: a warp's rows meet a tile of keys ------------------------------------------------------ */

/** Loads four halves in one instruction, as floats; load_four() of floats is in vector_elements.h. */
__device__ inline float4 load_four(const half *from)
{
    // [student: load_four_halves]
    /* TODO (part f16): load four halves, 8 bytes, in one instruction, and convert them to float. */
    (void)from;
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    // [/student]
}

/** Brings a warp's queries into shared memory. Rows that do not exist become 0. */
template <typename T, int HEAD_DIM>
__device__ inline void load_queries(float (*rows)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH], the warp's own
                                    const T *q_rows,                       // [count, head_dim]
                                    int count)
{
    // [student: load_queries]
    /* TODO: let the 32 lanes of the warp copy its rows, four elements at a time. */
    (void)rows, (void)q_rows, (void)count;
    // [/student]
}

/** Reads O, m and l as the last visit left them; at the first one there is nothing, and nothing is read. */
template <typename T, int HEAD_DIM>
__device__ inline void load_state(struct row_state<HEAD_DIM> *state, const struct head_data<T> &head,
                                  struct query_rows rows, int first_visit)
{
    // [student: load_state]
    /* TODO: lane i < count takes m and l of row i; every lane takes its COLUMNS columns of O of all rows,
     * from column lane * COLUMNS on. At the first visit, and in rows that do not exist, these are -infinity,
     * 0 and 0. */
    (void)state, (void)head, (void)rows, (void)first_visit;
    // [/student]
}

/** score[i][j] = scale times query i times key lane + 32 j. */
template <int HEAD_DIM>
__device__ inline void multiply_q_k(float score[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::THREAD_KEYS],
                                    float (*rows)[sizes<HEAD_DIM>::WIDTH],    // [ROWS][WIDTH]: queries
                                    float4 (*k_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS], swizzled
                                    float scale)
{
    // [student: multiply_q_k]
    /* TODO: begin at score = 0. For each group of four columns read THREAD_KEYS keys (mind the swizzle) and,
     * row by row, the query, and add the products to score. Scale at the end. */
    (void)score, (void)rows, (void)k_tile, (void)scale;
    // [/student]
}

/**
 * Scores become weights exp(score - m'), written over the queries. m and l become those of all keys seen so
 * far. keep[i] is the factor on the old output of row i in the new one, factor[i] that on its new weights.
 */
template <int HEAD_DIM>
__device__ inline void update_rows(struct row_state<HEAD_DIM> *state,
                                   float score[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::THREAD_KEYS],
                                   float (*rows)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH]
                                   const int seen[sizes<HEAD_DIM>::ROWS], // of this tile: all keys below
                                   float keep[sizes<HEAD_DIM>::ROWS], float factor[sizes<HEAD_DIM>::ROWS])
{
    // [student: update_rows]
    /* TODO: hide what a row does not see. Then lesson 03: m is the maximum of the old m, which lane i keeps for
     * row i, and of these scores; store the weights in the rows; correct l and increase it; let lane i keep
     * the new pair. From l before and after follow keep and factor. */
    (void)state, (void)score, (void)rows, (void)seen, (void)keep, (void)factor;
    // [/student]
}

/**
 * sum[i][c] += weights of row i times column c of the values. Rows see different numbers of keys: seen[i] of
 * this tile, the last row most. A hidden value is skipped, not multiplied by 0, for it may be NaN.
 */
template <int HEAD_DIM>
__device__ inline void multiply_p_v(float sum[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS],
                                    float (*rows)[sizes<HEAD_DIM>::WIDTH],    // [ROWS][WIDTH]: weights
                                    float4 (*v_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS]
                                    const int seen[sizes<HEAD_DIM>::ROWS])
{
    // [student: multiply_p_v]
    /* TODO: for each key read this lane's columns of its values, and add them, weighted, to the sum of every
     * row that sees the key. First make it right with one loop over all keys, then make it fast. */
    (void)sum, (void)rows, (void)v_tile, (void)seen;
    // [/student]
}

/** Writes m, l and the corrected output, keep * O + factor * sum, back to device memory. */
template <typename T, int HEAD_DIM>
__device__ inline void store_state(struct row_state<HEAD_DIM> *state, const struct head_data<T> &head,
                                   struct query_rows rows, const float keep[sizes<HEAD_DIM>::ROWS],
                                   const float factor[sizes<HEAD_DIM>::ROWS],
                                   float sum[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS])
{
    // [student: store_state]
    /* TODO: correct the output and write it, m and l back, from the lanes that load_state() gave them to. */
    (void)state, (void)head, (void)rows, (void)keep, (void)factor, (void)sum;
    // [/student]
}

/** One visit: a warp's rows meet the tile of keys that is in shared memory. All lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void visit_tile(const struct attention_args &args, const struct head_data<T> &head,
                                  struct query_rows rows, int first_key, float scale,
                                  float (*row_tile)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH], the warp's own
                                  float4 (*k_tile)[sizes<HEAD_DIM>::FOURS],  // [KEYS][FOURS], swizzled
                                  float4 (*v_tile)[sizes<HEAD_DIM>::FOURS])  // [KEYS][FOURS]
{
    // [student: visit_tile]
    /* TODO: the functions above, one after another, for one warp and its rows. The queries' place in shared
     * memory is used again for the weights: what has to stand between the steps? */
    (void)args, (void)head, (void)rows, (void)first_key, (void)scale;
    (void)row_tile, (void)k_tile, (void)v_tile;
    // [/student]
}

/* ---- the kernels: a tile of K and V in the outer loop, a visit of all rows in the inner -------------- */

/** Where head number @p bh, counted through the batch, has its data. */
template <typename T>
__device__ inline struct head_data<T> find_head(const struct attention_args &args, int bh,
                                                float *o, // [batch, heads, q_len, head_dim]
                                                float *m, // [batch, heads, q_len]
                                                float *l) // [batch, heads, q_len]
{
    // [student: find_head]
    /* TODO: find the rows of head bh: its own in q, o, m, l, and those of its K/V head in k and v. */
    struct head_data<T> head;
    head.q = head.k = head.v = NULL;
    head.o = head.m = head.l = NULL;
    (void)args, (void)bh, (void)o, (void)m, (void)l;
    return head;
    // [/student]
}

/**
 * The block loads a tile of K and of V; what lies past the last key becomes 0. Group g of key r is kept at
 * place g ^ (r % 8): the lanes of multiply_q_k() read group g of 8 different keys, and find them in 8
 * different groups of banks. A pad would do the same, but there is no room for one.
 */
template <typename T, int HEAD_DIM>
__device__ inline void load_tile(float4 (*k_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS], swizzled
                                 float4 (*v_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS]
                                 const T *k_rows,                          // [keys, head_dim]
                                 const T *v_rows,                          // [keys, head_dim]
                                 int keys)
{
    // [student: load_tile]
    /* TODO: let the THREADS threads of the block copy KEYS rows of K and of V, four elements at a time, with
     * neighbouring threads on neighbouring groups. Rows from `keys` on are not read: they become 0. */
    (void)k_tile, (void)v_tile, (void)k_rows, (void)v_rows, (void)keys;
    // [/student]
}

/** One block, one head: all tiles of K and V, and for each all queries that see some of it. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, 2) attention_kernel(struct attention_args args, float scale,
                                                               float *o, // [batch, heads, q_len, head_dim]
                                                               float *m, // [batch, heads, q_len]
                                                               float *l) // [batch, heads, q_len]
{
    // [student: attention_kernel]
    /* TODO: declare the three tiles; of the third each warp has a part of its own, [ROWS][WIDTH]. Outer loop:
     * load a tile of K and V. Inner loop: let each warp visit it with its pieces of ROWS queries,
     * ROWS * WARPS queries apart. Where does the block have to wait? At the end, lse = m + log l, unless it is NULL. */
    (void)args, (void)scale, (void)o, (void)m, (void)l;
    // [/student]
}

/** Launches the kernel for this head_dim. @p o is where the output lives, @p pairs has room for m and l. */
template <typename T>
inline enum kernel_status launch_attention(const struct attention_args *args,
                                           float *o,     // [batch, heads, q_len, head_dim]
                                           float *pairs, // [2, batch, heads, q_len]
                                           cudaStream_t stream)
{
    // [student: launch_attention]
    /* TODO: find m and l in `pairs`, and launch attention_kernel<T, HEAD_DIM> for the head_dim asked for: one
     * block per head, in `stream`. Return launch_status(). */
    (void)args, (void)o, (void)pairs, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Rounds the finished output once, four elements per thread. */
__global__ void round_kernel(const float *o, // [fours * 4]
                             half *out,      // [fours * 4]
                             size_t fours)
{
    // [student: round_kernel]
    /* TODO (part f16): one thread, four elements. */
    (void)o, (void)out, (void)fours;
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------ */

size_t flash_attention_1_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->head_dim < 1)
        return 0;
    uint64_t floats = args->dtype == DTYPE_F32 ? 2 : 2 + (uint64_t)args->head_dim; // a row
    uint64_t bytes = sizeof(float);
    int fits = multiply_fits(&bytes, floats, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

enum kernel_status flash_attention_1_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F32);
    if (status != KERNEL_OK) return status;
    // [student: launch_f32]
    /* TODO: launch_attention<float>. Where does the output live, and where do m and l? */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

enum kernel_status flash_attention_1_f16(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F16);
    if (status != KERNEL_OK) return status;
    // [student: launch_f16]
    /* TODO (part f16): launch_attention<half> with the output in the workspace, m and l after it, and then
     * round_kernel. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

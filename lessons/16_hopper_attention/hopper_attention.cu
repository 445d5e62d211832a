// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 16: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 16                 judges what is there
 *     build/bin/warpwise check 16 --case NAME     looks at one case
 */
// [/student]
#include "hopper_attention.h"

#include "attention_tiles.h"
#include "e4m3_rows.h" // given for part "fp8"
#include "softmax_rows.h"
#include "wgmma_attention.h" // wgmma_shared() for S = Q K^T, wgmma_registers() for O += P V
#include "wgmma_e4m3.h"      // the same for part "fp8"

/* ---- loading -------------------------------------------------------------------------------------------- */

/** The producer: one thread loads Q, K and V of all tiles of its block, as soon as there is room: K one tile ahead of V. */
template <typename SIZE>
__device__ inline void load_tiles(const struct attention &p, const struct shared_memory &s)
{
    // [student: load_tiles]
    // TODO: for every tile of queries of this block: Q, then its tiles of K and V from the last one down, K one ahead of V.
    (void)p, (void)s;
    // [/student]
}

/** Without a producer: one thread loads Q of the block's only tile, and fills the stages. release() loads the rest. */
template <typename SIZE>
__device__ inline void load_first(const struct attention &p, const struct shared_memory &s)
{
    // [student: load_first]
    // TODO: Q, and the last STAGES tiles of K and V, or all if there are fewer.
    (void)p, (void)s;
    // [/student]
}

/** The consumer is done with tile number @p tile, in this stage. Without a producer it loads the next one that goes there. */
template <typename SIZE>
__device__ inline void release(const struct stages &from, int stage, int tile, int head)
{
    // [student: release]
    // TODO: one thread arrives, or loads the tile that comes into this stage next.
    (void)from, (void)stage, (void)tile, (void)head;
    // [/student]
}

/* ---- the two products, in turn -------------------------------------------------------------------------- */

/** Waits until the consumer before this one has issued its products. */
template <typename SIZE> __device__ inline void wait_for_turn(void)
{
    // [student: wait_for_turn]
    // TODO: this consumer's named barrier, with the threads of two consumers.
    // [/student]
}

/** The next consumer may issue its products. */
template <typename SIZE> __device__ inline void pass_turn(void)
{
    // [student: pass_turn]
    // TODO: arrive at the next consumer's named barrier.
    // [/student]
}

/** Issues S = Q K^T: 64 rows of Q, all keys of a stage, 16 columns at a time. */
template <typename T, typename SIZE>
__device__ inline void multiply_q_k(float (&scores)[SIZE::SCORES], const struct shared_memory &s, int stage)
{
    // [student: multiply_q_k]
    // TODO: one wgmma for each 16 columns of Q and K; the first begins with sums of 0.
    (void)scores, (void)s, (void)stage;
    // [/student]
}

/** Issues O += P V: the weights from registers, 16 keys of a stage at a time. */
template <typename T, typename SIZE>
__device__ inline void multiply_p_v(float (&o)[SIZE::SUMS], const uint32_t (&weights)[SIZE::WEIGHTS],
                                    const struct shared_memory &s, int stage)
{
    // [student: multiply_p_v]
    // TODO: one wgmma for each 16 keys; P comes from registers.
    (void)o, (void)weights, (void)s, (void)stage;
    // [/student]
}

/** The scores of tile number @p i of the keys. No other product runs meanwhile. */
template <typename T, typename SIZE>
__device__ inline void find_scores(float (&scores)[SIZE::SCORES], const struct attention &p,
                                   const struct shared_memory &s, const struct ring *ring, int i, int head)
{
    // [student: find_scores]
    // TODO: wait for K, S = Q K^T, release K.
    (void)scores, (void)p, (void)s, (void)ring, (void)i, (void)head;
    // [/student]
}

/** O += P V. No other product runs meanwhile. */
template <typename T, typename SIZE>
__device__ inline void add_values(float (&o)[SIZE::SUMS], const uint32_t (&weights)[SIZE::WEIGHTS],
                                  const struct shared_memory &s, int stage)
{
    // [student: add_values]
    // TODO: fence, product, commit, wait.
    (void)o, (void)weights, (void)s, (void)stage;
    // [/student]
}

/* ---- the consumers -------------------------------------------------------------------------------------- */

/** Adds tile number @p i of the keys, one step after the other; MASKED: some rows do not see all of it. */
template <typename T, typename SIZE, int MASKED>
__device__ inline void add_alone(struct row_state<SIZE::SUMS> *rows, const struct attention &p,
                                 const struct shared_memory &s, struct query_tile tile, int i,
                                 struct ring *ring)
{
    // [student: add_alone]
    // TODO: S, mask, softmax, P V, each after the other; add_hidden_values() looks for NaN behind the mask.
    (void)rows, (void)p, (void)s, (void)tile, (void)i, (void)ring;
    // [/student]
}

/** Adds the tiles of keys that all rows see whole, down to tile 0: S of one beside O += P V of the one before. */
template <typename T, typename SIZE>
__device__ inline void add_whole(struct row_state<SIZE::SUMS> *rows, const struct attention &p,
                                 const struct shared_memory &s, struct query_tile tile, struct ring *ring)
{
    // [student: add_whole]
    // TODO: S and softmax of the first tile; then S of the next beside P V of this one, and softmax under that product.
    (void)rows, (void)p, (void)s, (void)tile, (void)ring;
    // [/student]
}

/** A consumer without rows multiplies nothing: it releases tiles of K and V when they are there, and passes its turns on. */
template <typename SIZE>
__device__ inline void pass_tiles(const struct shared_memory &s, struct query_tile tile, struct ring *ring)
{
    // [student: pass_tiles]
    // TODO: release every tile of K and V as soon as it is there, and pass the turn on as often as the others do.
    (void)s, (void)tile, (void)ring;
    // [/student]
}

/** Divides O by l, once, and writes a consumer's rows: to shared memory, and from there by TMA. */
template <typename T, typename SIZE>
__device__ inline void write_rows(const struct attention &p, const struct shared_memory &s,
                                  struct query_tile tile, const struct row_state<SIZE::SUMS> *rows)
{
    // [student: write_rows]
    // TODO: lse; O divided by l, rounded, to shared memory; a fence between two proxies; TMA stores it.
    (void)p, (void)s, (void)tile, (void)rows;
    // [/student]
}

/** A consumer takes its 64 rows of every tile of queries of its block: first the keys that not all rows see, then the others. */
template <typename T, typename SIZE>
__device__ inline void attend_tiles(const struct attention &p, struct shared_memory s)
{
    // [student: attend_tiles]
    // TODO: for every tile of queries of this block: wait for Q, the masked tiles of keys, the whole ones, release Q, write.
    (void)p, (void)s;
    // [/student]
}

/* ---- the kernel ----------------------------------------------------------------------------------------- */

/** Sets up the mbarriers and gives every warpgroup its work. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(SIZE::THREADS, SIZE::BLOCKS)
    attention_kernel(const __grid_constant__ struct attention p)
{
#if HOPPER_CODE
    // [student: attention_kernel]
    // TODO: initialise the mbarriers; then all attend, or one warpgroup loads and the others attend.
    // [/student]
#endif
}

/** Describes to TMA what it copies: boxes of 64 columns and as many rows as are copied at once. */
template <typename SIZE> static int describe(struct attention *p)
{
    // [student: describe]
    // TODO: a tensor map of each of q, k, v and out, with the box that is copied at once; 0 if one is refused.
    (void)p;
    return 0;
    // [/student]
}

/** Starts a block for every tile of queries, or, with a producer and few keys, one for every SM. */
template <typename T, typename SIZE>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    // TODO: fill in what the kernel is told, describe the tensors to TMA, launch a block per tile of queries, or per SM.
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- parts "f16" and "bf16" ----------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim: tile sizes must be known when compiling. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 64 && args->head_dim != 128) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->head_dim == 64 ? launch<T, tile_of_64>(args, stream) : launch<T, tile_of_128>(args, stream);
}

enum kernel_status hopper_attention_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_attention_bf16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

/* ---- part "fp8": Q, K and V become E4M3 ----------------------------------------------------------------- */

/** The largest @p largest of the block, in every thread; @p words is shared memory, a word per warp. */
__device__ inline float largest_of_block(float *words, float largest)
{
    // [student: largest_of_block]
    // TODO: the largest of a warp by shuffles, that of all warps by shared memory.
    (void)words;
    return largest;
    // [/student]
}

/**
 * A block of 128 rows of a head of Q, K or V: rotated unless it is V, their scale found, and, if there is a place for codes,
 * rounded. A warp has 16 rows, a lane eight of every 32 columns of two of them; Q and K have them in the same order.
 */
template <typename T>
__global__ void __launch_bounds__(QUANTISE_THREADS, 2)
    quantise_rows_kernel(const __grid_constant__ struct rows_to_round jobs,
                         const __grid_constant__ struct rotation rotation)
{
    // [student: quantise_rows]
    // TODO: which of Q, K and V this block has; a warp's rows into registers, rotated; the largest finite size of the block; its
    // scale; four codes to a word.
    // [/student]
}

/** A tile of 128 keys of V: rounded with the scale of its head, and transposed. What is past the last key becomes zeros. */
template <typename T>
__global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise_values_kernel(const T *v, uint8_t *codes, const float *tile_scales, float *scales, int rows)
{
    // [student: quantise_values]
    // TODO: the scale of the head; words of four keys, in the order of key_at(), to a transposed tile; the tile to device memory.
    // [/student]
}

/** Rounds Q, K and V into the workspace, and launches attention of what is there. */
template <typename T, typename E4M3>
static enum kernel_status attention_e4m3(const struct attention_args *args, unsigned seed,
                                         cudaStream_t stream)
{
    // [student: attention_e4m3]
    // TODO: round Q and K and find the scales of V's tiles, all by one kernel, and round V; then launch<E4M3, tile_of_e4m3>() with
    // what is in the workspace.
    (void)args, (void)seed, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

size_t hopper_attention_fp8_workspace_bytes(const struct attention_args *args)
{
    return e4m3_workspace(args).bytes;
}

enum kernel_status hopper_attention_fp8(const struct attention_args *args, unsigned seed, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, e4m3_workspace(args).bytes);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != E4M3_COLUMNS) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->dtype == DTYPE_F16 ? attention_e4m3<half, e4m3_to_f16>(args, seed, stream)
                                    : attention_e4m3<__nv_bfloat16, e4m3_to_bf16>(args, seed, stream);
}

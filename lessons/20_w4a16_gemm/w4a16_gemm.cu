// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 20: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 20                 judges what is there
 *     build/bin/warpwise check 20 --case NAME     looks at one case
 */
// [/student]
#include "w4a16_gemm.h"

#include "kernel_launch.h"
#include "rasterization.h"
#include "tile_sizes.h" // from the block's tile down to the fragment
#include "warp_pairs.h" // two numbers in a register, wrappers for cp.async and mma.sync

/* ---- part "shuffle" ------------------------------------------------------------------------------------ */

/** q of column @p column at row @p row, as a checkpoint stores it. */
__device__ inline uint32_t stored_weight(const struct w4a16_shuffle_args &args, int row, int column)
{
    // [student: shuffle_stored]
    // TODO: the word that holds this weight, and which of its eight numbers it is.
    (void)args, (void)row, (void)column;
    return 0;
    // [/student]
}

/** One thread, one word of shuffled weights. */
__global__ void __launch_bounds__(THREADS) shuffle_weights_kernel(struct w4a16_shuffle_args args)
{
    // [student: shuffle_weights]
    // TODO: which strip, slice, block, lane and word is this thread's? Collect its eight numbers; past column n there are none.
    (void)args;
    // [/student]
}

/** One thread, eight zeros of one group. */
__global__ void __launch_bounds__(THREADS) shuffle_zeros_kernel(struct w4a16_shuffle_args args)
{
    // [student: shuffle_zeros]
    // TODO: eight zeros of one group in the order of their columns, and 8 where none are stored.
    (void)args;
    // [/student]
}

/* ---- from 4 bits to 16, and the product ------------------------------------------------------------------ */

/** Register @p i of a fragment: two neighbours along k of column i % 2, each 2^10 (2^7 in bf16) + q. */
template <typename T> __device__ inline uint32_t unpack(uint32_t word, int i)
{
    // [student: unpack_pair]
    // TODO: two of the word's numbers, 16 bits apart, each put into the last bits of a power of two.
    (void)word, (void)i;
    return 0;
    // [/student]
}

/** Zero @p i of a word, twice, with the same power of two added: bytes of the zeros and of the power, picked by one instruction. */
template <typename T> __device__ inline uint32_t unpack_zero(uint32_t word, int i)
{
    // [student: unpack_zero]
    // TODO: the byte of the zero beside the upper byte of the power of two, twice: one __byte_perm().
    (void)word, (void)i;
    return 0;
    // [/student]
}

/** Half of a lane's 16 rows of W: two words of each block. Each becomes a fragment A of m16n8k16, with two columns of W as rows. */
template <typename T>
__device__ inline void dequantise(uint32_t w[BLOCKS][2][4], const struct lane_weights &from, int half)
{
    // [student: unpack_fragment]
    // TODO: of both blocks: zeros and scales of its two columns, each twice; then two words, four registers each.
    (void)w, (void)from, (void)half;
    // [/student]
}

/** Adds them times chunks of A. sum[f][b]: columns 2b (c[0], c[1]) and 2b + 1 of the lane's four, rows 8f + 2t and 8f + 2t + 1. */
template <typename T, int FRAGMENTS>
__device__ inline void multiply_half(float sum[FRAGMENTS][BLOCKS][4], const uint32_t w[BLOCKS][2][4],
                                     const uint4 a[FRAGMENTS])
{
    // [student: vector_multiply]
    // TODO: a product for each sum and each of the two words.
    (void)sum, (void)w, (void)a;
    // [/student]
}

/* ---- W, from memory to registers ------------------------------------------------------------------------- */

/** Loads what the lane has of slice @p at of W. */
__device__ inline void load_weights(struct lane_weights *to, const struct w4a16_args &args, int at,
                                    const struct place &place)
{
    // [student: vector_weights]
    // TODO: 16 bytes of each block, four scales, four zeros.
    *to = {};
    (void)args, (void)at, (void)place;
    // [/student]
}

/** The slices of k that this block takes: a part of them where k is split. */
__device__ inline struct part part_of(const struct w4a16_args &args)
{
    // [student: split_part]
    // TODO: part blockIdx.y of gridDim.y.
    return {(int)blockIdx.y, 0, args.k / SLICE};
    // [/student]
}

/** Four neighbours of row @p row of C, from column @p column on: as elements of C, or as floats of part @p split of k. */
template <typename T>
__device__ inline void write_four(const struct product &p, int split, int row, int column, float4 x)
{
    // [student: vector_write]
    // TODO: nothing past m or n; floats to p.partial if there is one, else elements to C.
    (void)p, (void)split, (void)row, (void)column, (void)x;
    // [/student]
}

/* ---- part "vector": few rows ----------------------------------------------------------------------------- */

/** Loads slice @p at, if it is before @p end: W, and 16 elements each of rows g, g + 8, ... of A. Past the last row it is the last. */
template <typename T, int FRAGMENTS>
__device__ inline void load_slice(struct vector_slice<FRAGMENTS> *slice, const struct w4a16_args &args,
                                  int at, int end, const struct place &place)
{
    // [student: vector_load]
    // TODO: if the slice exists, weights and two chunks of each row of A; past the last row read the last.
    (void)slice, (void)args, (void)at, (void)end, (void)place;
    // [/student]
}

/** The sums of the block's warps, added in their order, become 32 columns of C, from column 32 @p tile on. */
template <typename T, int FRAGMENTS>
__device__ inline void add_slices(const struct product &p, int split, int tile, const struct place &place,
                                  const float sum[FRAGMENTS][BLOCKS][4])
{
    // [student: vector_add]
    // TODO: sums to shared memory, a barrier, a thread per row and g adds those of all warps and writes; a barrier.
    (void)p, (void)split, (void)tile, (void)place, (void)sum;
    // [/student]
}

/** One block per SM, 32 columns after 32 columns, one part of k. Warps take slices in turn, each loaded AHEAD of its product. */
template <typename T, int FRAGMENTS>
__global__ void __launch_bounds__(VECTOR_THREADS, 1) vector_kernel(struct product p)
{
    // [student: vector_kernel]
    // TODO: load AHEAD slices; for each 32 columns: multiply, load what comes next, add the warps.
    (void)p;
    // [/student]
}

/* ---- part "tensor": A through shared memory ---------------------------------------------------------------- */

/** Starts to copy slice @p at of rows @p m on of A. Zeros where there is nothing, and from slice @p end on, which is another part's. */
template <typename T, typename SIZE>
__device__ inline void copy_slice(struct slice<SIZE> *to, const struct w4a16_args &args, int m, int at,
                                  int end)
{
    // [student: tensor_copy]
    // TODO: chunks of A, swizzled; zeros past m and from slice `end` on.
    (void)to, (void)args, (void)m, (void)at, (void)end;
    // [/student]
}

/** Adds one slice: words become numbers once, for all rows of the tile; then the lane loads its words of slice @p next. */
template <typename T, typename SIZE>
__device__ inline void multiply(float sum[SIZE::FRAGMENTS][BLOCKS][4], const struct slice<SIZE> &slice,
                                struct lane_weights *weights, const struct w4a16_args &args, int next,
                                int end, const struct place &place)
{
    // [student: tensor_multiply]
    // TODO: numbers of each half, products with all fragments of A; after the second half load the words of slice `next`.
    (void)sum, (void)slice, (void)weights, (void)args, (void)next, (void)end, (void)place;
    // [/student]
}

/** Adds the sums of the warps that took other slices, in their order, to those of the warps with warp_k 0. */
template <typename SIZE> __device__ inline void add_warps(float *sum, float *shared, int warp_k)
{
    // [student: tensor_add_warps]
    // TODO: through shared memory, in the order of the warps' slices.
    (void)sum, (void)shared, (void)warp_k;
    // [/student]
}

/** One block, one tile of C and one part of k: A is copied STAGES - 1 stages ahead, each WARPS_K slices; W is loaded one ahead. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(SIZE::THREADS, 1) tensor_kernel(struct product p)
{
    // [student: tensor_kernel]
    // TODO: find the tile and the part of k, start copies, walk along k, add warps, write the sums.
    (void)p;
    // [/student]
}

/** Part "split": a thread adds the sums of four columns of a row, in the order of the parts of k. */
template <typename T> __global__ void __launch_bounds__(THREADS) add_splits_kernel(struct product p)
{
    // [student: split_add]
    // TODO: wait for the kernel before, add the parts of four columns in their order, write them.
    (void)p;
    // [/student]
}

/* ---- entry points --------------------------------------------------------------------------------------- */

/** Starts one block per SM, or per 32 columns if they are fewer, and part of k: early, while the kernel before still runs. */
template <typename T, int FRAGMENTS>
static enum kernel_status launch_vector(struct product *p, int splits, cudaStream_t stream)
{
    // [student: vector_launch]
    // TODO: p->tiles_n half strips; a block per SM, or per half strip if they are fewer; early.
    (void)p, (void)splits, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Starts one block per tile of C and part of k. */
template <typename T, typename SIZE>
static enum kernel_status launch_tiles(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_launch]
    // TODO: tiles of C, ask for more than 48 KB of shared memory, and start a block per tile and part, early.
    (void)p, (void)splits, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Finds the kernel for a number of rows; where k is split, the parts are added. */
template <typename T>
static enum kernel_status launch_product(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_choice]
    // TODO: the tile for this number of rows; where k is split, a kernel that adds the parts.
    (void)p, (void)splits, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** @p status, or that the device is too old: mma.sync of 16 x 8 x 16, cp.async and bfloat16 came with sm_80. */
static enum kernel_status on_this_device(enum kernel_status status)
{
    if (status != KERNEL_OK) return status;
    return device_attribute(cudaDevAttrComputeCapabilityMajor) < 8 ? KERNEL_UNSUPPORTED_ARCHITECTURE
                                                                   : KERNEL_OK;
}

enum kernel_status w4a16_shuffle(const struct w4a16_shuffle_args *args, cudaStream_t stream)
{
    enum kernel_status status = on_this_device(w4a16_shuffle_args_check(args));
    if (status != KERNEL_OK) return status;
    // [student: shuffle_launch]
    // TODO: a thread per word, first of the weights, then of the zeros.
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

enum kernel_status w4a16_vector(const struct w4a16_args *args, cudaStream_t stream)
{
    enum kernel_status status = on_this_device(w4a16_args_check(args, W4_VECTOR_ROWS, 0, 0));
    if (status != KERNEL_OK) return status;
    struct product p = {*args, 0, 0, NULL};
    if (args->dtype == DTYPE_F16) return launch_vector<__half, 1>(&p, 1, stream);
    return launch_vector<__nv_bfloat16, 1>(&p, 1, stream);
}

/** Both products on tensor cores; @p partial is NULL where no other block works on the same elements. */
static enum kernel_status launch(const struct w4a16_args *args, int splits, float *partial,
                                 cudaStream_t stream)
{
    struct product p = {*args, 0, 0, partial};
    return args->dtype == DTYPE_F16 ? launch_product<__half>(&p, splits, stream)
                                    : launch_product<__nv_bfloat16>(&p, splits, stream);
}

enum kernel_status w4a16_tensor(const struct w4a16_args *args, cudaStream_t stream)
{
    enum kernel_status status = on_this_device(w4a16_args_check(args, INT_MAX, 0, 0));
    return status == KERNEL_OK ? launch(args, 1, NULL, stream) : status;
}

size_t w4a16_split_workspace_bytes(const struct w4a16_args *args)
{
    if (args == NULL || !w4a16_group_is_known(args->group, args->k) || !w4a16_extents_fit(args) ||
        args->splits < 2 || args->splits > W4_MOST_SPLITS)
        return 0;
    return (size_t)args->m * args->n * args->splits * sizeof(float);
}

enum kernel_status w4a16_split(const struct w4a16_args *args, cudaStream_t stream)
{
    size_t bytes = w4a16_split_workspace_bytes(args);
    enum kernel_status status = on_this_device(w4a16_args_check(args, INT_MAX, 1, bytes));
    if (status != KERNEL_OK) return status;
    // [student: split_entry]
    // TODO: with one part, as in part "tensor"; with several, sums into the workspace.
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

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

/** A matrix product on tensor cores, or a part of k of one. */
struct product {
    struct w4a16_args args;
    int tiles_m, tiles_n; // of C
    int stages;           // in shared memory
    float *partial;       // [splits, m, n], or NULL: C is written
};

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

/* ---- from 4 bits to 16 ---------------------------------------------------------------------------------- */

/** Register @p i of a fragment: two neighbours along k of column i % 2, each 2^10 (2^7 in bf16) + q. */
template <typename T> __device__ inline uint32_t unpack(uint32_t word, int i)
{
    // [student: unpack_pair]
    // TODO: two of the word's numbers, 16 bits apart, each put into the last bits of a power of two.
    (void)word, (void)i;
    return 0;
    // [/student]
}

/** Zero @p i of a word, twice, with the same power of two added. */
template <typename T> __device__ inline uint32_t unpack_zero(uint32_t word, int i)
{
    // [student: unpack_zero]
    // TODO: the same for one zero, twice.
    (void)word, (void)i;
    return 0;
    // [/student]
}

/** A word becomes a fragment A of m16n8k16, with two columns of W as rows; of both a zero and a scale, each twice. */
template <typename T>
__device__ inline void dequantise(uint32_t a[4], uint32_t word, const uint32_t zero[2],
                                  const uint32_t scale[2])
{
    // [student: unpack_fragment]
    // TODO: subtract the zero, multiply by the scale, for each of the four registers.
    (void)a, (void)word, (void)zero, (void)scale;
    // [/student]
}

/* ---- part "vector" -------------------------------------------------------------------------------------- */

/** Loads slice @p at of the lane's columns, the first of which is @p column. Past the end of k or n there is nothing to load. */
__device__ inline void load_slice(struct vector_slice *slice, const struct w4a16_args &args, int at,
                                  int column)
{
    // [student: vector_load]
    // TODO: the lane's 16 bytes of each block, its scales and zeros; nothing where nothing is.
    *slice = {};
    (void)args, (void)at, (void)column;
    // [/student]
}

/** Adds the lane's 16 rows of slice @p at to its sums: of each column all of them, then once its scale. */
template <typename T, int ROWS>
__device__ inline void multiply_slice(float sum[ROWS][LANE_COLUMNS], const struct vector_slice &slice,
                                      const struct w4a16_args &args, int at, int column)
{
    // [student: vector_multiply]
    // TODO: sums of a (q - zero) over 16 rows, then once the scale.
    (void)sum, (void)slice, (void)args, (void)at, (void)column;
    // [/student]
}

/** One block, 32 columns of a strip: those of two of its blocks. Its warps take slices in turn. */
template <typename T, int ROWS>
__global__ void __launch_bounds__(THREADS) vector_kernel(struct w4a16_args args)
{
    // [student: vector_kernel]
    // TODO: load slices ahead, multiply them, add lanes, then warps, and write C.
    (void)args;
    // [/student]
}

/* ---- part "tensor": from device memory to shared memory ------------------------------------------------- */

/**
 * Starts to copy a stage's slices of k, from slice @p at on: of A the rows from row @p m on, of W the strips from column @p n on.
 * Zeros where there is nothing, and for slices from @p end on, which are another part's.
 */
template <typename T, typename SIZE>
__device__ inline void copy_slice(struct slice<T, SIZE> *to, const struct w4a16_args &args, int m, int n,
                                  int at, int end)
{
    // [student: tensor_copy]
    // TODO: chunks of A, swizzled; W as it lies; scales and zeros of two groups. Zeros where nothing is.
    (void)to, (void)args, (void)m, (void)n, (void)at, (void)end;
    // [/student]
}

/* ---- part "tensor": from shared memory to registers, and the product ------------------------------------ */

/** Adds one slice: sum[b][f] is a fragment C with columns 8g + 2b (c[0], c[1]) and 8g + 2b + 1 of W and rows 2t, 2t + 1 of A. */
template <typename T, typename SIZE>
__device__ inline void multiply(float sum[STRIP_BLOCKS][SIZE::FRAGMENTS][4],
                                const struct slice<T, SIZE> &slice, const struct place &at)
{
    // [student: tensor_multiply]
    // TODO: fragments of A, words of W unpacked, and a product for each pair of them.
    (void)sum, (void)slice, (void)at;
    // [/student]
}

/** Adds the sums of the warps that took other slices, in their order, to those of the warps with warp_k 0. */
template <typename SIZE> __device__ inline void add_warps(float *sum, float *shared, const struct place &at)
{
    // [student: tensor_add_warps]
    // TODO: through shared memory, in the order of the warps' slices.
    (void)sum, (void)shared, (void)at;
    // [/student]
}

/** Eight neighbours of row @p row of C, from column @p column on: as elements of C, or as floats of part @p split of k. */
template <typename T>
__device__ inline void write_eight(const struct product &p, int split, int row, int column, const float x[8])
{
    // [student: tensor_write]
    // TODO: eight elements of C in one store; where k is split, eight floats.
    (void)p, (void)split, (void)row, (void)column, (void)x;
    // [/student]
}

/** One block, one tile of C and one part of k: copies p.stages - 1 stages ahead, each WARPS_K slices of k. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(THREADS, SIZE::ROWS == 16 ? 2 : 1) tensor_kernel(struct product p)
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

/** Starts one block per tile of C and part of k, with as many stages as the device has room for, at most MOST_STAGES. */
template <typename T, typename SIZE>
static enum kernel_status launch_tiles(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_launch]
    // TODO: how many stages fit, tiles of C, ask for more than 48 KB of shared memory, and start a block per tile and part.
    (void)p, (void)splits, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Finds the tile for a number of rows; where k is split, the parts are added. */
template <typename T>
static enum kernel_status launch_product(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_choice]
    // TODO: the tile for this number of rows; where k is split, a kernel that adds the parts.
    (void)p, (void)splits, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Finds the kernel for a storage type and a number of rows. */
template <typename T>
static enum kernel_status launch_vector(const struct w4a16_args *args, cudaStream_t stream)
{
    // [student: vector_launch]
    // TODO: two blocks for each strip of 64 columns; one row has a kernel of its own.
    (void)args, (void)stream;
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
    return args->dtype == DTYPE_F16 ? launch_vector<__half>(args, stream)
                                    : launch_vector<__nv_bfloat16>(args, stream);
}

/** Both products on tensor cores; @p partial is NULL where no other block works on the same elements. */
static enum kernel_status launch(const struct w4a16_args *args, int splits, float *partial,
                                 cudaStream_t stream)
{
    struct product p = {*args, 0, 0, 0, partial};
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

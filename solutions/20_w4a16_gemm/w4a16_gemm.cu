// [student: head]
/*
 * 4-bit weights times 16-bit activations: W crosses the memory as it is stored, a quarter of the bytes, and becomes f16 or
 * bf16 in registers, two weights in three instructions.
 *
 *     w >> 4i & 0x000f000f    two of a word's eight numbers      0000 0000 0000 q    0000 0000 0000 q'
 *     | 0x64006400            as halves, 1024 + q                ...
 *     - (1024 + zero)         exact: a whole number from -15 to 15
 *     * scale                 rounded once
 *
 * W is shuffled once, so that a lane's 16 bytes are just what it multiplies by mma.sync, W on the left with its 16 columns.
 * Up to 16 rows W goes straight to registers; more rows share what a block has loaded, through shared memory; and where C
 * has too few tiles, blocks share k.
 *
 * Run:  build/bin/warpwise check 20 --kernel solutions/20_w4a16_gemm/w4a16_gemm.cu
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
    if (args.format == W4_GPTQ) return args.qweight[(size_t)(row / 8) * args.n + column] >> row % 8 * 4 & 15;
    int place = column % 2 * 4 + column % 8 / 2; // 0 2 4 6 1 3 5 7, the other way round
    return args.qweight[(size_t)row * (args.n / 8) + column / 8] >> place * 4 & 15;
    // [/student]
}

/** One thread, one word of shuffled weights. */
__global__ void __launch_bounds__(THREADS) shuffle_weights_kernel(struct w4a16_shuffle_args args)
{
    // [student: shuffle_weights]
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x, slices = (size_t)args.k / SLICE;
    size_t slice = at / W4_SLICE_WORDS % slices, strip = at / W4_SLICE_WORDS / slices;
    int within = (int)(at % W4_SLICE_WORDS), w = within % 4, lane = within / 4 % WARP, block = within / 128;
    int column = (int)strip * SLICE + lane / 4 * 8 + block * 2;
    int row = (int)slice * SLICE + lane % 4 * 16 + w * 4;
    uint32_t word = 0;
    for (int i = 0; i < 8 && column < args.n; i++)
        word |= stored_weight(args, row + i % 4 / 2 * 2 + i / 4, column + i % 2) << 4 * i;
    args.weights[at] = word;
    // [/student]
}

/** One thread, eight zeros of one group. */
__global__ void __launch_bounds__(THREADS) shuffle_zeros_kernel(struct w4a16_shuffle_args args)
{
    // [student: shuffle_zeros]
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= (size_t)args.k / args.group * (args.n / 8)) return;
    uint32_t from = args.qzeros != NULL ? args.qzeros[at] : 0x88888888u, word = 0;
    for (int i = 0; i < 8; i++) {
        uint32_t zero = from >> 4 * i & 15;
        if (args.qzeros != NULL && args.format == W4_AWQ) zero = from >> 4 * (i % 2 * 4 + i / 2) & 15;
        if (args.qzeros != NULL && args.format == W4_GPTQ) zero = (zero + 1) & 15;
        word |= zero << 4 * i;
    }
    args.zeros[at] = word;
    // [/student]
}

/* ---- from 4 bits to 16, and the product ------------------------------------------------------------------ */

/** Register @p i of a fragment: two neighbours along k of column i % 2, each 2^10 (2^7 in bf16) + q. */
template <typename T> __device__ inline uint32_t unpack(uint32_t word, int i)
{
    // [student: unpack_pair]
    return and_or(word >> 4 * i, 0x000f000fu, magic<T>::BITS); // one shift, one lop3
    // [/student]
}

/** Zero @p i of a word, twice, with the same power of two added: bytes of the zeros and of the power, picked by one instruction. */
template <typename T> __device__ inline uint32_t unpack_zero(uint32_t word, int i)
{
    // [student: unpack_zero]
    uint32_t bytes = word >> i % 2 * 4 & 0x0f0f0f0fu; // the even zeros, or the odd ones
    return __byte_perm(bytes, magic<T>::BITS >> 8, 0x4040u | (unsigned)i / 2 * 0x0101u);
    // [/student]
}

/** Half of a lane's 16 rows of W: two words of each block. Each becomes a fragment A of m16n8k16, with two columns of W as rows. */
template <typename T>
__device__ inline void dequantise(uint32_t w[BLOCKS][2][4], const struct lane_weights &from, int half)
{
    // [student: unpack_fragment]
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t both = b ? from.scales.y : from.scales.x; // the scales of two columns
        const uint32_t scale[2] = {__byte_perm(both, 0, 0x1010), __byte_perm(both, 0, 0x3232)};
        const uint32_t zero[2] = {unpack_zero<T>(from.zeros, 2 * b), unpack_zero<T>(from.zeros, 2 * b + 1)};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            uint32_t q = unpack<T>((&from.w[b].x)[2 * half + i / 4], i % 4);
            w[b][i / 4][i % 4] = multiply_pairs<T>(subtract_pairs<T>(q, zero[i % 2]), scale[i % 2]);
        }
    }
    // [/student]
}

/** Adds them times chunks of A. sum[f][b]: columns 2b (c[0], c[1]) and 2b + 1 of the lane's four, rows 8f + 2t and 8f + 2t + 1. */
template <typename T, int FRAGMENTS>
__device__ inline void multiply_half(float sum[FRAGMENTS][BLOCKS][4], const uint32_t w[BLOCKS][2][4],
                                     const uint4 a[FRAGMENTS])
{
    // [student: vector_multiply]
#pragma unroll
    for (int i = 0; i < FRAGMENTS * BLOCKS; i++) // every sum once, then again: none waits for itself
        multiply_add<T>(sum[i / BLOCKS][i % BLOCKS], w[i % BLOCKS][0], a[i / BLOCKS].x, a[i / BLOCKS].y);
#pragma unroll
    for (int i = 0; i < FRAGMENTS * BLOCKS; i++)
        multiply_add<T>(sum[i / BLOCKS][i % BLOCKS], w[i % BLOCKS][1], a[i / BLOCKS].z, a[i / BLOCKS].w);
    // [/student]
}

/* ---- W, from memory to registers ------------------------------------------------------------------------- */

/** Loads what the lane has of slice @p at of W. */
__device__ inline void load_weights(struct lane_weights *to, const struct w4a16_args &args, int at,
                                    const struct place &place)
{
    // [student: vector_weights]
    const uint4 *from = (const uint4 *)args.weights + place.words + (size_t)at * SLICE_CHUNKS;
    int group = group_of(args, at * SLICE + place.t * 16);
    const uint4 first = __ldcs(from), second = __ldcs(from + WARP); // used once: the cache is for A
    to->w[0] = first, to->w[1] = second;
    to->scales = *(const uint2 *)((const uint16_t *)args.scales + (size_t)group * args.n + place.column);
    to->zeros = args.zeros[(size_t)group * (args.n / 8) + place.column / 8] >> place.column % 8 * 4;
    // [/student]
}

/** The slices of k that this block takes: a part of them where k is split. */
__device__ inline struct part part_of(const struct w4a16_args &args)
{
    // [student: split_part]
    int slices = args.k / SLICE, split = (int)blockIdx.y, splits = (int)gridDim.y;
    return {split, slices * split / splits, slices * (split + 1) / splits}; // 2^25 slices, 2^5 parts
    // [/student]
}

/** Four neighbours of row @p row of C, from column @p column on: as elements of C, or as floats of part @p split of k. */
template <typename T>
__device__ inline void write_four(const struct product &p, int split, int row, int column, float4 x)
{
    // [student: vector_write]
    if (row >= p.args.m || column >= p.args.n) return;
    if (p.partial != NULL)
        *(float4 *)(p.partial + ((size_t)split * p.args.m + row) * p.args.n + column) = x;
    else
        *(uint2 *)((T *)p.args.c + (size_t)row * p.args.ldc + column) =
            make_uint2(pack_elements<T>(x.x, x.y), pack_elements<T>(x.z, x.w));
    // [/student]
}

/* ---- part "vector": few rows ----------------------------------------------------------------------------- */

/** Loads slice @p at, if it is before @p end: W, and 16 elements each of rows g, g + 8, ... of A. Past the last row it is the last. */
template <typename T, int FRAGMENTS>
__device__ inline void load_slice(struct vector_slice<FRAGMENTS> *slice, const struct w4a16_args &args,
                                  int at, int end, const struct place &place)
{
    // [student: vector_load]
    if (at >= end) return;
    load_weights(&slice->w, args, at, place);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; f++) {
        size_t row = (size_t)min(f * MMA_ROWS + place.g, args.m - 1);
        const uint4 *from = (const uint4 *)((const T *)args.a + row * args.lda + at * SLICE + place.t * 16);
        slice->a[0][f] = from[0], slice->a[1][f] = from[1];
    }
    // [/student]
}

/** The sums of the block's warps, added in their order, become 32 columns of C, from column 32 @p tile on. */
template <typename T, int FRAGMENTS>
__device__ inline void add_slices(const struct product &p, int split, int tile, const struct place &place,
                                  const float sum[FRAGMENTS][BLOCKS][4])
{
    // [student: vector_add]
    __shared__ float4 partial[VECTOR_WARPS][FRAGMENTS * MMA_ROWS][CHUNK + 1]; // + 1: rows in other banks
    int warp = (int)threadIdx.x / WARP, row = (int)threadIdx.x / CHUNK, g = (int)threadIdx.x % CHUNK;
#pragma unroll
    for (int i = 0; i < 2 * FRAGMENTS; i++)
        partial[warp][i / 2 * MMA_ROWS + 2 * place.t + i % 2][place.g] = row_of(sum[i / 2], i % 2);
    __syncthreads(); // the sums of all warps are there before they are added
    float4 x = {};
    for (int i = 0; i < VECTOR_WARPS && row < FRAGMENTS * MMA_ROWS; i++) x = add_four(x, partial[i][row][g]);
    if (row < FRAGMENTS * MMA_ROWS) write_four<T>(p, split, row, column_of(tile, g), x);
    __syncthreads(); // all have been added before those of the next columns replace them
    // [/student]
}

/** One block per SM, 32 columns after 32 columns, one part of k. Warps take slices in turn, each loaded AHEAD of its product. */
template <typename T, int FRAGMENTS>
__global__ void __launch_bounds__(VECTOR_THREADS, 1) vector_kernel(struct product p)
{
    // [student: vector_kernel]
    struct part part = part_of(p.args);
    struct place place = place_of(p.args, (int)blockIdx.x);
    struct vector_slice<FRAGMENTS> slice[AHEAD];
    int begin = part.begin + (int)threadIdx.x / WARP;
    let_next_start();
    prefetch_weights(p.args, begin, min(part.end, begin + AHEAD * VECTOR_WARPS), VECTOR_WARPS, place);
    wait_for_kernel_before(); // what it wrote may be A, or even W
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        load_slice<T>(&slice[i], p.args, begin + i * VECTOR_WARPS, part.end, place);
    for (int tile = (int)blockIdx.x, step = (int)gridDim.x; tile < p.tiles_n; tile += step) {
        float sum[FRAGMENTS][BLOCKS][4] = {};
        for (int at = begin; at < part.end; at += AHEAD * VECTOR_WARPS) {
            int next = at + AHEAD * VECTOR_WARPS, end = part.end; // what is loaded meanwhile
            if (next >= end) {
                next = begin, place = place_of(p.args, tile + step);
                end = tile + step < p.tiles_n ? part.end : 0;
            }
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
#pragma unroll
                for (int half = 0; half < 2 && at + i * VECTOR_WARPS < part.end; half++) {
                    uint32_t w[BLOCKS][2][4];
                    dequantise<T>(w, slice[i].w, half);
                    multiply_half<T, FRAGMENTS>(sum, w, slice[i].a[half]);
                }
                load_slice<T>(&slice[i], p.args, next + i * VECTOR_WARPS, end, place);
            }
        }
        add_slices<T, FRAGMENTS>(p, part.split, tile, place, sum);
    }
    // [/student]
}

/* ---- part "tensor": A through shared memory ---------------------------------------------------------------- */

/** Starts to copy slice @p at of rows @p m on of A. Zeros where there is nothing, and from slice @p end on, which is another part's. */
template <typename T, typename SIZE>
__device__ inline void copy_slice(struct slice<SIZE> *to, const struct w4a16_args &args, int m, int at,
                                  int end)
{
    // [student: tensor_copy]
    constexpr int SHARE = SIZE::THREADS / SIZE::WARPS_K; // threads that copy one slice
    int row = (int)threadIdx.x % SHARE / ROW_CHUNKS, chunk = (int)threadIdx.x % ROW_CHUNKS;
    const T *from = (const T *)args.a + (size_t)(m + row) * args.lda + (size_t)at * SLICE + chunk * CHUNK;
#pragma unroll
    for (int i = 0; i < SIZE::TILE_M; i += SHARE / ROW_CHUNKS)
        copy_16_bytes(&to->a[row + i][chunk ^ row % 8], from + (size_t)i * args.lda,
                      at < end && m + row + i < args.m);
    // [/student]
}

/** Adds one slice: words become numbers once, for all rows of the tile; then the lane loads its words of slice @p next. */
template <typename T, typename SIZE>
__device__ inline void multiply(float sum[SIZE::FRAGMENTS][BLOCKS][4], const struct slice<SIZE> &slice,
                                struct lane_weights *weights, const struct w4a16_args &args, int next,
                                int end, const struct place &place)
{
    // [student: tensor_multiply]
#pragma unroll
    for (int half = 0; half < 2; half++) { // of 16 neighbours along k: a chunk of A, two words of W
        uint32_t w[BLOCKS][2][4];
        dequantise<T>(w, *weights, half);
        if (half == 1 && next < end) load_weights(weights, args, next, place);
#pragma unroll
        for (int f = 0; f < SIZE::FRAGMENTS; f += AT_ONCE) {
            uint4 chunks[AT_ONCE];
            for (int i = 0; i < AT_ONCE; i++)
                chunks[i] = slice.a[(f + i) * MMA_ROWS + place.g][(2 * place.t + half) ^ place.g];
            multiply_half<T, AT_ONCE>(&sum[f], w, chunks);
        }
    }
    // [/student]
}

/** Adds the sums of the warps that took other slices, in their order, to those of the warps with warp_k 0. */
template <typename SIZE> __device__ inline void add_warps(float *sum, float *shared, int warp_k)
{
    // [student: tensor_add_warps]
    constexpr int LANES = SIZE::THREADS / SIZE::WARPS_K; // [WARPS_K - 1, SUMS, LANES]
    int lane = (int)threadIdx.x % LANES;
    __syncthreads(); // all warps have read the last stage, which the sums overwrite
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i++)
        if (warp_k > 0) shared[((warp_k - 1) * SIZE::SUMS + i) * LANES + lane] = sum[i];
    __syncthreads(); // the sums of all warps are there before they are added
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i++)
        for (int k = 0; k < SIZE::WARPS_K - 1; k++) sum[i] += shared[(k * SIZE::SUMS + i) * LANES + lane];
    // [/student]
}

/** One block, one tile of C and one part of k: A is copied STAGES - 1 stages ahead, each WARPS_K slices; W is loaded one ahead. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(SIZE::THREADS, 1) tensor_kernel(struct product p)
{
    // [student: tensor_kernel]
    extern __shared__ uint4 shared_memory[]; // [STAGES, WARPS_K] slices
    struct slice<SIZE> *const ring = (struct slice<SIZE> *)shared_memory;
    struct tile_index tile = raster_tile<RASTER_ROWS>((int)blockIdx.x, p.tiles_m, p.tiles_n);
    struct part part = part_of(p.args);
    int warp = (int)threadIdx.x / WARP, warp_k = warp / SIZE::WARPS_N, m = tile.row * SIZE::TILE_M;
    int half_strip = tile.column * SIZE::WARPS_N + warp % SIZE::WARPS_N;
    int at = part.begin + warp_k, next = at, end = part.end; // slices to be multiplied, to be copied
    struct place place = place_of(p.args, half_strip);
    let_next_start();
    prefetch_weights(p.args, at, min(end, at + AHEAD * SIZE::WARPS_K), SIZE::WARPS_K, place);
    wait_for_kernel_before(); // what it wrote may be A, or even W

    float sum[SIZE::FRAGMENTS][BLOCKS][4] = {};
    struct lane_weights weights;
    for (int i = 0; i < STAGES - 1; i++, next += SIZE::WARPS_K) {
        copy_slice<T, SIZE>(&ring[i * SIZE::WARPS_K + warp_k], p.args, m, next, end);
        commit_copies();
    }
    if (at < end) load_weights(&weights, p.args, at, place);
    int left = divide_up(end - part.begin, SIZE::WARPS_K); // the same in all warps
    for (int now = 0, free = STAGES - 1; left > 0; left--, at += SIZE::WARPS_K, next += SIZE::WARPS_K) {
        wait_groups<STAGES - 2>();
        // This stage is there for everybody before anybody reads it; and everybody has read the one before, which the
        // next copies overwrite.
        __syncthreads();
        copy_slice<T, SIZE>(&ring[free * SIZE::WARPS_K + warp_k], p.args, m, next, end);
        commit_copies();
        if (at < end)
            multiply<T, SIZE>(sum, ring[now * SIZE::WARPS_K + warp_k], &weights, p.args, at + SIZE::WARPS_K,
                              end, place);
        free = now, now = now + 1 < STAGES ? now + 1 : 0;
    }
    wait_groups<0>();
    if (SIZE::WARPS_K > 1) add_warps<SIZE>(&sum[0][0][0], (float *)shared_memory, warp_k);
    if (warp_k > 0) return;
#pragma unroll
    for (int i = 0; i < 2 * SIZE::FRAGMENTS; i++)
        write_four<T>(p, part.split, m + i / 2 * MMA_ROWS + 2 * place.t + i % 2,
                      column_of(half_strip, place.g), row_of(sum[i / 2], i % 2));
    // [/student]
}

/** Part "split": a thread adds the sums of four columns of a row, in the order of the parts of k. */
template <typename T> __global__ void __launch_bounds__(THREADS) add_splits_kernel(struct product p)
{
    // [student: split_add]
    let_next_start();
    wait_for_kernel_before(); // launched early: the sums are there from here on
    size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 4, size = (size_t)p.args.m * p.args.n;
    if (at >= size) return;
    float4 x = {};
    for (int split = 0; split < p.args.splits; split++)
        x = add_four(x, *(const float4 *)(p.partial + split * size + at));
    *(uint2 *)((T *)p.args.c + at / p.args.n * p.args.ldc + at % p.args.n) =
        make_uint2(pack_elements<T>(x.x, x.y), pack_elements<T>(x.z, x.w));
    // [/student]
}

/* ---- entry points --------------------------------------------------------------------------------------- */

/** Starts one block per SM, or per 32 columns if they are fewer, and part of k: early, while the kernel before still runs. */
template <typename T, int FRAGMENTS>
static enum kernel_status launch_vector(struct product *p, int splits, cudaStream_t stream)
{
    // [student: vector_launch]
    p->tiles_n = divide_up(p->args.n, SLICE) * (SLICE / COLUMNS);
    int blocks = min(p->tiles_n, max(device_attribute(cudaDevAttrMultiProcessorCount), 1));
    return launch_early(vector_kernel<T, FRAGMENTS>, dim3((unsigned)blocks, (unsigned)splits),
                        dim3(VECTOR_THREADS), stream, *p);
    // [/student]
}

/** Starts one block per tile of C and part of k. */
template <typename T, typename SIZE>
static enum kernel_status launch_tiles(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_launch]
    constexpr int BYTES = STAGES * SIZE::WARPS_K * (int)sizeof(struct slice<SIZE>);
    static_assert(BYTES <= 99 * 1024, "what a block of sm_86 can have");
    p->tiles_m = divide_up(p->args.m, SIZE::TILE_M), p->tiles_n = divide_up(p->args.n, SIZE::TILE_N);
    auto kernel = tensor_kernel<T, SIZE>; // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES) != cudaSuccess)
        return launch_status();
    dim3 blocks((unsigned)(p->tiles_m * p->tiles_n), (unsigned)splits);
    return launch_early_with(BYTES, kernel, blocks, dim3(SIZE::THREADS), stream, *p);
    // [/student]
}

/** Finds the kernel for a number of rows; where k is split, the parts are added. */
template <typename T>
static enum kernel_status launch_product(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_choice]
    int m = p->args.m;
    enum kernel_status status = m <= MMA_ROWS            ? launch_vector<T, 1>(p, splits, stream)
                                : m <= 2 * MMA_ROWS      ? launch_vector<T, 2>(p, splits, stream)
                                : m <= MOST_OF_SOME_ROWS ? launch_tiles<T, some_rows>(p, splits, stream)
                                                         : launch_tiles<T, many_rows>(p, splits, stream);
    if (status != KERNEL_OK || p->partial == NULL) return status;
    dim3 blocks((unsigned)(((size_t)p->args.m * p->args.n / 4 + THREADS - 1) / THREADS));
    return launch_early(add_splits_kernel<T>, blocks, dim3(THREADS), stream, *p);
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
    size_t words = w4a16_weight_words(args->n, args->k), zeros = (size_t)args->k / args->group * args->n / 8;
    shuffle_weights_kernel<<<(unsigned)(words / THREADS), THREADS, 0, stream>>>(*args);
    status = launch_status();
    if (status != KERNEL_OK) return status;
    shuffle_zeros_kernel<<<(unsigned)((zeros + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*args);
    return launch_status();
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
    return launch(args, args->splits, args->splits > 1 ? (float *)args->workspace : NULL, stream);
    // [/student]
}

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
 * W is shuffled once, so that a lane's 16 bytes are just what it multiplies. One to four rows take plain FMAs; more rows
 * take mma.sync, W on the left with its 16 columns; and where C has too few tiles, blocks share k.
 *
 * Run:  build/bin/warpwise check 20 --kernel solutions/20_w4a16_gemm/w4a16_gemm.cu
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

/* ---- from 4 bits to 16 ---------------------------------------------------------------------------------- */

/** Register @p i of a fragment: two neighbours along k of column i % 2, each 2^10 (2^7 in bf16) + q. */
template <typename T> __device__ inline uint32_t unpack(uint32_t word, int i)
{
    // [student: unpack_pair]
    return (word >> 4 * i & 0x000f000fu) | magic<T>::BITS; // one shift, one lop3
    // [/student]
}

/** Zero @p i of a word, twice, with the same power of two added. */
template <typename T> __device__ inline uint32_t unpack_zero(uint32_t word, int i)
{
    // [student: unpack_zero]
    return (word >> 4 * i & 15u) * 0x10001u | magic<T>::BITS;
    // [/student]
}

/** A word becomes a fragment A of m16n8k16, with two columns of W as rows; of both a zero and a scale, each twice. */
template <typename T>
__device__ inline void dequantise(uint32_t a[4], uint32_t word, const uint32_t zero[2],
                                  const uint32_t scale[2])
{
    // [student: unpack_fragment]
#pragma unroll
    for (int i = 0; i < 4; i++)
        a[i] = multiply_pairs<T>(subtract_pairs<T>(unpack<T>(word, i), zero[i % 2]), scale[i % 2]);
    // [/student]
}

/* ---- part "vector" -------------------------------------------------------------------------------------- */

/** Loads slice @p at of the lane's columns, the first of which is @p column. Past the end of k or n there is nothing to load. */
__device__ inline void load_slice(struct vector_slice *slice, const struct w4a16_args &args, int at,
                                  int column)
{
    // [student: vector_load]
    int lane = (int)threadIdx.x % WARP, slices = args.k / SLICE, block = column % CHUNK / 2;
    *slice = {};
    if (at >= slices || column >= args.n) return;
    const uint4 *from = (const uint4 *)args.weights +
                        (((size_t)(column / SLICE) * slices + at) * STRIP_BLOCKS + block) * WARP + lane;
    size_t group = (size_t)((at * SLICE + lane % 4 * 16) / args.group);
    uint4 low = __ldcs(from), high = __ldcs(from + WARP); // used once: the cache is for A
    slice->w[0] = low, slice->w[1] = high;
    slice->scales = *(const uint2 *)((const uint16_t *)args.scales + group * args.n + column);
    slice->zeros = args.zeros[(group * args.n + column) / 8];
    // [/student]
}

/** Adds the lane's 16 rows of slice @p at to its sums: of each column all of them, then once its scale. */
template <typename T, int ROWS>
__device__ inline void multiply_slice(float sum[ROWS][LANE_COLUMNS], const struct vector_slice &slice,
                                      const struct w4a16_args &args, int at, int column)
{
    // [student: vector_multiply]
    const T *a = (const T *)args.a + at * SLICE + threadIdx.x % 4 * 16; // [m, lda]
    float exact[ROWS][LANE_COLUMNS] = {};
#pragma unroll
    for (int w = 0; w < 4; w++) { // a word of each block: four neighbours along k of two columns
        uint32_t word[VECTOR_BLOCKS];
        for (int block = 0; block < VECTOR_BLOCKS; block++) word[block] = (&slice.w[block].x)[w];
        uint2 pairs[ROWS];
        for (int row = 0; row < ROWS; row++)
            pairs[row] = *(const uint2 *)(a + (size_t)min(row, args.m - 1) * args.lda + 4 * w);
#pragma unroll
        for (int i = 0; i < 4 * VECTOR_BLOCKS; i++) {
            int of = i / 4 * 2 + i % 2;
            uint32_t zero = unpack_zero<T>(slice.zeros, column % CHUNK + of);
            uint32_t q = subtract_pairs<T>(unpack<T>(word[i / 4], i % 4), zero);
            float low = unpack_element<T>(q, 0), high = unpack_element<T>(q, 1);
            for (int row = 0; row < ROWS; row++) {
                uint32_t two = i % 4 / 2 ? pairs[row].y : pairs[row].x;
                exact[row][of] += low * unpack_element<T>(two, 0);
                exact[row][of] += high * unpack_element<T>(two, 1);
            }
        }
    }
#pragma unroll
    for (int of = 0; of < LANE_COLUMNS; of++) {
        float scale = unpack_element<T>(of / 2 ? slice.scales.y : slice.scales.x, of % 2);
        for (int row = 0; row < ROWS; row++) sum[row][of] += exact[row][of] * scale;
    }
    // [/student]
}

/** One block, 32 columns of a strip: those of two of its blocks. Its warps take slices in turn. */
template <typename T, int ROWS>
__global__ void __launch_bounds__(THREADS) vector_kernel(struct w4a16_args args)
{
    // [student: vector_kernel]
    __shared__ float partial[WARPS][ROWS][VECTOR_COLUMNS];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int first = (int)blockIdx.x / 2 * SLICE + (int)blockIdx.x % 2 * LANE_COLUMNS; // of the lanes with g = 0
    int column = first + lane / 4 * CHUNK, slices = args.k / SLICE;
    float sum[ROWS][LANE_COLUMNS] = {};
    struct vector_slice slice[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) load_slice(&slice[i], args, warp + i * WARPS, column);
    for (int at = warp; at < slices; at += AHEAD * WARPS) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (at + i * WARPS < slices) multiply_slice<T, ROWS>(sum, slice[i], args, at + i * WARPS, column);
            load_slice(&slice[i], args, at + (i + AHEAD) * WARPS, column);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS * LANE_COLUMNS; i++) { // the lanes of one g have the same columns
        float x = sum[i / LANE_COLUMNS][i % LANE_COLUMNS];
        x += __shfl_xor_sync(0xffffffffu, x, 1);
        x += __shfl_xor_sync(0xffffffffu, x, 2);
        if (lane % 4 == 0) partial[warp][i / LANE_COLUMNS][lane / 4 * LANE_COLUMNS + i % LANE_COLUMNS] = x;
    }
    __syncthreads(); // the sums of all warps are there before they are added
    int row = (int)threadIdx.x / VECTOR_COLUMNS, at = (int)threadIdx.x % VECTOR_COLUMNS;
    column = first + at / LANE_COLUMNS * CHUNK + at % LANE_COLUMNS;
    if (row >= args.m || column >= args.n) return;
    float x = 0.0f;
    for (int i = 0; i < WARPS; i++) x += partial[i][row][at];
    ((T *)args.c)[(size_t)row * args.ldc + column] = T(x);
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
    constexpr int SHARE = THREADS / SIZE::WARPS_K; // threads that copy one slice
    int thread = (int)threadIdx.x % SHARE, there = at < end, slices = args.k / SLICE;
    for (int i = thread; i < SIZE::TILE_M * ROW_CHUNKS; i += SHARE) {
        int row = i / ROW_CHUNKS, chunk = i % ROW_CHUNKS;
        const T *from = (const T *)args.a + (size_t)(m + row) * args.lda + (size_t)at * SLICE + chunk * CHUNK;
        copy_16_bytes(&to->a[row][chunk ^ row % 8], from, there && m + row < args.m);
    }
    for (int i = thread; i < SIZE::WARPS_N * STRIP_BLOCKS * WARP; i += SHARE) {
        int strip = i / (STRIP_BLOCKS * WARP);
        const uint4 *from = (const uint4 *)args.weights +
                            ((size_t)(n / SLICE + strip) * slices + at) * (STRIP_BLOCKS * WARP) +
                            i % (STRIP_BLOCKS * WARP);
        copy_16_bytes(&to->w[0][0][i], from, there && n + strip * SLICE < args.n);
    }
    for (int i = thread; i < GROUPS * SIZE::TILE_N / CHUNK; i += SHARE) {
        int half = i / (SIZE::TILE_N / CHUNK), chunk = i % (SIZE::TILE_N / CHUNK), column = n + chunk * CHUNK;
        size_t from = (size_t)((at * SLICE + half * 32) / args.group) * args.n + column;
        copy_16_bytes(&to->scales[half][chunk * CHUNK], (const T *)args.scales + from,
                      there && column < args.n);
        copy_4_bytes(&to->zeros[half][chunk], args.zeros + from / 8, there && column < args.n);
    }
    // [/student]
}

/* ---- part "tensor": from shared memory to registers, and the product ------------------------------------ */

/** Adds one slice: sum[b][f] is a fragment C with columns 8g + 2b (c[0], c[1]) and 8g + 2b + 1 of W and rows 2t, 2t + 1 of A. */
template <typename T, typename SIZE>
__device__ inline void multiply(float sum[STRIP_BLOCKS][SIZE::FRAGMENTS][4],
                                const struct slice<T, SIZE> &slice, const struct place &at)
{
    // [student: tensor_multiply]
    const uint4 scales = *(const uint4 *)&slice.scales[at.t / 2][at.warp_n * SLICE + at.g * CHUNK];
    uint32_t zeros = slice.zeros[at.t / 2][at.warp_n * (SLICE / 8) + at.g];
    uint4 words[STRIP_BLOCKS];
    for (int b = 0; b < STRIP_BLOCKS; b++) words[b] = slice.w[at.warp_n][b][at.lane];
#pragma unroll
    for (int half = 0; half < 2; half++) { // of 16 neighbours along k: a chunk of A, two words of W
        uint4 a[SIZE::FRAGMENTS];
        for (int f = 0; f < SIZE::FRAGMENTS; f++)
            a[f] = slice.a[at.warp_m * SIZE::ROWS + f * MMA_ROWS + at.g][(2 * at.t + half) ^ at.g];
#pragma unroll
        for (int b = 0; b < STRIP_BLOCKS; b++) {
            uint32_t both = (&scales.x)[b], w[4]; // the scales of two columns
            const uint32_t scale[2] = {__byte_perm(both, 0, 0x1010), __byte_perm(both, 0, 0x3232)};
            const uint32_t zero[2] = {unpack_zero<T>(zeros, 2 * b), unpack_zero<T>(zeros, 2 * b + 1)};
            dequantise<T>(w, half ? words[b].z : words[b].x, zero, scale);
            for (int f = 0; f < SIZE::FRAGMENTS; f++) multiply_add<T>(sum[b][f], w, a[f].x, a[f].y);
            dequantise<T>(w, half ? words[b].w : words[b].y, zero, scale);
            for (int f = 0; f < SIZE::FRAGMENTS; f++) multiply_add<T>(sum[b][f], w, a[f].z, a[f].w);
        }
    }
    // [/student]
}

/** Adds the sums of the warps that took other slices, in their order, to those of the warps with warp_k 0. */
template <typename SIZE> __device__ inline void add_warps(float *sum, float *shared, const struct place &at)
{
    // [student: tensor_add_warps]
    constexpr int LANES = THREADS / SIZE::WARPS_K; // [WARPS_K - 1, SUMS, LANES]
    int lane = (int)threadIdx.x % LANES;
    __syncthreads(); // all warps have read the last stage, which the sums overwrite
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i++)
        if (at.warp_k > 0) shared[((at.warp_k - 1) * SIZE::SUMS + i) * LANES + lane] = sum[i];
    __syncthreads(); // the sums of all warps are there before they are added
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i++)
        for (int k = 0; k < SIZE::WARPS_K - 1; k++) sum[i] += shared[(k * SIZE::SUMS + i) * LANES + lane];
    // [/student]
}

/** Eight neighbours of row @p row of C, from column @p column on: as elements of C, or as floats of part @p split of k. */
template <typename T>
__device__ inline void write_eight(const struct product &p, int split, int row, int column, const float x[8])
{
    // [student: tensor_write]
    if (row >= p.args.m || column >= p.args.n) return;
    if (p.partial != NULL) {
        float *to = p.partial + ((size_t)split * p.args.m + row) * p.args.n + column;
        *(float4 *)to = make_float4(x[0], x[1], x[2], x[3]);
        *(float4 *)(to + 4) = make_float4(x[4], x[5], x[6], x[7]);
        return;
    }
    *(uint4 *)((T *)p.args.c + (size_t)row * p.args.ldc + column) =
        make_uint4(pack_elements<T>(x[0], x[1]), pack_elements<T>(x[2], x[3]), pack_elements<T>(x[4], x[5]),
                   pack_elements<T>(x[6], x[7]));
    // [/student]
}

/** One block, one tile of C and one part of k: copies p.stages - 1 stages ahead, each WARPS_K slices of k. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(THREADS, SIZE::ROWS == 16 ? 2 : 1) tensor_kernel(struct product p)
{
    // [student: tensor_kernel]
    extern __shared__ uint4 shared_memory[]; // [p.stages, WARPS_K] slices
    struct slice<T, SIZE> *const ring = (struct slice<T, SIZE> *)shared_memory;
    struct place at = place_of<SIZE>((int)threadIdx.x);
    struct tile_index tile = raster_tile<RASTER_ROWS>((int)blockIdx.x, p.tiles_m, p.tiles_n);
    int m = tile.row * SIZE::TILE_M, n = tile.column * SIZE::TILE_N, slices = p.args.k / SLICE;
    int split = (int)blockIdx.y, end = (int)((int64_t)slices * (split + 1) / gridDim.y);
    int begin = (int)((int64_t)slices * split / gridDim.y), left = divide_up(end - begin, SIZE::WARPS_K);
    int next = begin + at.warp_k; // slice that this thread helps to copy

    float sum[STRIP_BLOCKS][SIZE::FRAGMENTS][4] = {};
    for (int i = 0; i < p.stages - 1; i++, next += SIZE::WARPS_K) {
        copy_slice<T, SIZE>(&ring[i * SIZE::WARPS_K + at.warp_k], p.args, m, n, next, end);
        commit_copies();
    }
    for (int now = 0, free = p.stages - 1; left > 0; left--, next += SIZE::WARPS_K) {
        wait_for_stage(p.stages);
        // This stage is there for everybody before anybody reads it; and everybody has read the one before, which the
        // next copies overwrite.
        __syncthreads();
        copy_slice<T, SIZE>(&ring[free * SIZE::WARPS_K + at.warp_k], p.args, m, n, next, end);
        commit_copies();
        multiply<T, SIZE>(sum, ring[now * SIZE::WARPS_K + at.warp_k], at);
        free = now, now = now + 1 < p.stages ? now + 1 : 0;
    }
    wait_groups<0>();
    if (SIZE::WARPS_K > 1) add_warps<SIZE>(&sum[0][0][0], (float *)shared_memory, at);
    if (at.warp_k > 0) return;
#pragma unroll
    for (int i = 0; i < 2 * SIZE::FRAGMENTS; i++) {
        float x[8];
        for (int c = 0; c < 8; c++) x[c] = sum[c / 2][i / 2][c % 2 * 2 + i % 2];
        write_eight<T>(p, split, m + at.warp_m * SIZE::ROWS + i / 2 * MMA_ROWS + 2 * at.t + i % 2,
                       n + at.warp_n * SLICE + at.g * CHUNK, x);
    }
    // [/student]
}

/** Part "split": a thread adds the sums of four columns of a row, in the order of the parts of k. */
template <typename T> __global__ void __launch_bounds__(THREADS) add_splits_kernel(struct product p)
{
    // [student: split_add]
    wait_for_kernel_before(); // launched early: the sums are there from here on
    size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 4, size = (size_t)p.args.m * p.args.n;
    if (at >= size) return;
    float4 x = {};
    for (int split = 0; split < p.args.splits; split++) {
        float4 part = *(const float4 *)(p.partial + split * size + at);
        x.x += part.x, x.y += part.y, x.z += part.z, x.w += part.w;
    }
    *(uint2 *)((T *)p.args.c + at / p.args.n * p.args.ldc + at % p.args.n) =
        make_uint2(pack_elements<T>(x.x, x.y), pack_elements<T>(x.z, x.w));
    // [/student]
}

/* ---- entry points --------------------------------------------------------------------------------------- */

/** Starts one block per tile of C and part of k, with as many stages as the device has room for, at most MOST_STAGES. */
template <typename T, typename SIZE>
static enum kernel_status launch_tiles(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_launch]
    constexpr int BYTES = SIZE::WARPS_K * (int)sizeof(struct slice<T, SIZE>);
    int room = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) / BYTES;
    p->stages = room < MOST_STAGES ? room : MOST_STAGES;
    p->tiles_m = divide_up(p->args.m, SIZE::TILE_M), p->tiles_n = divide_up(p->args.n, SIZE::TILE_N);
    int bytes = p->stages * BYTES; // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(tensor_kernel<T, SIZE>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return launch_status();
    dim3 blocks((unsigned)(p->tiles_m * p->tiles_n), (unsigned)splits);
    tensor_kernel<T, SIZE><<<blocks, THREADS, (size_t)bytes, stream>>>(*p);
    return launch_status();
    // [/student]
}

/** Finds the tile for a number of rows; where k is split, the parts are added. */
template <typename T>
static enum kernel_status launch_product(struct product *p, int splits, cudaStream_t stream)
{
    // [student: tensor_choice]
    enum kernel_status status;
    if (p->args.m <= few_rows::TILE_M)
        status = launch_tiles<T, few_rows>(p, splits, stream);
    else if (p->args.m <= some_rows::TILE_M)
        status = launch_tiles<T, some_rows>(p, splits, stream);
    else
        status = launch_tiles<T, many_rows>(p, splits, stream);
    if (status != KERNEL_OK || p->partial == NULL) return status;
    dim3 blocks((unsigned)(((size_t)p->args.m * p->args.n / 4 + THREADS - 1) / THREADS));
    return launch_early(add_splits_kernel<T>, blocks, dim3(THREADS), stream, *p);
    // [/student]
}

/** Finds the kernel for a storage type and a number of rows. */
template <typename T>
static enum kernel_status launch_vector(const struct w4a16_args *args, cudaStream_t stream)
{
    // [student: vector_launch]
    int blocks = divide_up(args->n, SLICE) * 2;
    if (args->m == 1)
        vector_kernel<T, 1><<<blocks, THREADS, 0, stream>>>(*args);
    else
        vector_kernel<T, W4_VECTOR_ROWS><<<blocks, THREADS, 0, stream>>>(*args);
    return launch_status();
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
    return launch(args, args->splits, args->splits > 1 ? (float *)args->workspace : NULL, stream);
    // [/student]
}

/*
 * Going further: the pipeline of lesson 09 with ldmatrix and mma.sync (lesson 12), and a swizzle in place of the pad.
 *
 * Chunk c of row r of a tile lies at place c ^ r % 8 of its row, so that eight rows that are copied, or read by ldmatrix, use
 * all 32 banks. A row is then as long as its elements: copies take 4 wavefronts where rows with a pad take 10.5, and 4
 * stages of 128 x 256 x 64 fit. Rows that begin at no multiple of 16 bytes are copied element by element. Below sm_80,
 * mma.sync takes 8 of k at once, and copies wait.
 */
// covered-by: stages_by_template
#include "pipelined_gemm.h"

#include <cuda_pipeline.h>

#include "block_tile.h"
#include "warp_matrix.h"

/** Sizes of a block's tile of C, of its k-slices, and of a warp's part of the tile. */
template <int TILE_M, int TILE_N, int TILE_K, int WARP_TILE_M, int WARP_TILE_N, int MMA_TILE_K>
struct swizzled_tile {
    enum {
        MMA_K = MMA_TILE_K, // of an instruction
        M = TILE_M,
        N = TILE_N,
        K = TILE_K,
        WARP_M = WARP_TILE_M,
        WARP_N = WARP_TILE_N,
        WARPS_N = N / WARP_N,
        THREADS = M / WARP_M * WARPS_N * WARP,
        FRAGMENTS_M = WARP_M / FRAGMENT,
        FRAGMENTS_N = WARP_N / FRAGMENT,
        STEPS = K / FRAGMENT,                     // along k, in a stage
        PORTIONS = STEPS > 2 ? STEPS - 1 : STEPS, // copies begin in so many portions
        A_BYTES = M * K * (int)sizeof(half),
        STAGE_BYTES = A_BYTES + K * N * (int)sizeof(half)
    };
    static_assert(A_BYTES % 128 == 0 && STAGE_BYTES % 128 == 0, "the swizzle is one of addresses");
};

typedef struct swizzled_tile<128, 256, 64, 64, 64, 16> large_tile;
typedef struct swizzled_tile<64, 64, 32, 32, 32, 16> small_tile;
typedef struct swizzled_tile<64, 64, 32, 32, 32, 8> old_tile;

/** What a warp multiplies at once: 16 along k. Of B, b[j] are two fragments of 8 columns. */
template <typename T> struct fragments {
    uint32_t a[T::FRAGMENTS_M][4], b[T::FRAGMENTS_N][4];
};

/** The bytes of a tile before chunk @p chunk of row @p row, of @p CHUNKS: rows of 4 chunks lie in pairs. */
template <int CHUNKS> __device__ inline uint32_t chunk_place(int row, int chunk)
{
    constexpr int WIDE = CHUNKS < 8 ? CHUNKS : 8,
                  ROWS = 8 / WIDE; // chunks that trade places; rows in 128 bytes
    return (uint32_t)(row * CHUNKS + (chunk ^ row / ROWS % WIDE)) * 16;
}

/* ---- from global to shared memory ----------------------------------------------------------------------- */

/** Portion @p portion of the copies of a tile inside of its matrix; the thread's first chunk goes from @p from to @p to. */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_inside(char *to, const half *from, size_t jump, int portion)
{
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS, COPIES = ROWS / STEP; // rows at once
    static_assert(STEP % CHUNK == 0, "all chunks of a thread are swizzled alike");
#pragma unroll
    for (int i = 0; i < COPIES; i++)
        if (i * T::PORTIONS / COPIES == portion)
            __pipeline_memcpy_async(to + i * STEP * COLUMNS * (int)sizeof(half), from + i * jump,
                                    sizeof(uint4));
}

/** A whole tile that may stick out of its matrix, or whose rows begin anywhere. */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_edge(char *to, const struct source &from, int row, int column)
{
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS;
    struct coord own = thread_chunk<COLUMNS>();
    const half *chunk = chunk_address<COLUMNS>(from, row, column);
#pragma unroll 1
    for (int i = own.row; i < ROWS; i += STEP, chunk += STEP * from.leading) {
        int left = i < from.rows - row ? from.cols - column - own.column : 0;
        char *place = to + chunk_place<COLUMNS / CHUNK>(i, own.column / CHUNK);
        if (from.aligned && left >= CHUNK) {
            __pipeline_memcpy_async(place, chunk, sizeof(uint4));
            continue;
        }
        alignas(16) half edge[CHUNK];
        for (int x = 0; x < CHUNK; x++) edge[x] = x < left ? chunk[x] : __float2half(0.0f);
        *(uint4 *)place = *(const uint4 *)edge;
    }
}

/** Both tiles of a step that may stick out: past the last step, nothing. */
template <typename T> __device__ inline void fill_edge(char *stage, const struct work &work, int step)
{
    if (step >= work.steps) return;
    copy_edge<T, T::M, T::K>(stage, work.a, work.tile.row, step * T::K);
    copy_edge<T, T::K, T::N>(stage + T::A_BYTES, work.b, step * T::K, work.tile.column);
}

/** The work of a block on tile @p tile of C. */
template <typename T> __device__ inline struct work work_of(const struct gemm_args &args, int tile)
{
    return {source_of(args.a, args.m, args.k, args.lda), source_of(args.b, args.k, args.n, args.ldb),
            block_tile<T>(args, tile), divide_up(args.k, T::K), max(args.stages - 1, 1)};
}

/** Waits until only @p ahead - 1 groups of this thread are under way: the oldest has landed. */
__device__ inline void wait_for_oldest(int ahead)
{
    if (ahead == 1) __pipeline_wait_prior(0);
    if (ahead == 2) __pipeline_wait_prior(1);
    if (ahead == 3) __pipeline_wait_prior(2);
}

/* ---- the instructions, as sm_75 has them too ------------------------------------------------------------- */

/** Lane i gives the address of row i % 8 of matrix i / 8, and gets elements 2t, 2t + 1 of row g of each (warp_matrix.h). */
__device__ inline void load_rows(uint32_t x[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
}

/** The same of the matrices' transposes. */
__device__ inline void load_columns(uint32_t x[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
}

/** C += A B, 16 x 8 x 8. */
__device__ inline void multiply_add_8(float c[4], uint32_t a0, uint32_t a1, uint32_t b)
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b));
}

/* ---- from shared memory to C ---------------------------------------------------------------------------- */

/** The fragments of step @p step of the stage at @p stage; @p a, @p b are the lane's places at step 0. */
template <typename T>
__device__ inline void load_fragments(struct fragments<T> *f, uint32_t stage, uint32_t a, uint32_t b,
                                      int step)
{
    uint32_t row_a = (stage + a) ^ (uint32_t)step * 32; // two chunks on
#pragma unroll
    for (int i = 0; i < T::FRAGMENTS_M; i++)
        load_rows(f->a[i], row_a + (uint32_t)(i * FRAGMENT * T::K) * (uint32_t)sizeof(half));
    uint32_t rows = (uint32_t)(step * FRAGMENT * T::N) * (uint32_t)sizeof(half);
#pragma unroll
    for (int j = 0; j < T::FRAGMENTS_N; j++)
        load_columns(f->b[j], ((stage + T::A_BYTES + b) ^ (uint32_t)j * 32) + rows);
}

/** Their products, down one row of fragments and up the next: neighbours share a fragment. */
template <typename T>
__device__ inline void multiply(float sum[T::FRAGMENTS_M][2 * T::FRAGMENTS_N][4],
                                const struct fragments<T> &f)
{
#pragma unroll
    for (int i = 0; i < T::FRAGMENTS_M; i++)
#pragma unroll
        for (int x = 0; x < 2 * T::FRAGMENTS_N; x++) {
            int j = i % 2 ? 2 * T::FRAGMENTS_N - 1 - x : x;
            const uint32_t *a = f.a[i], *b = &f.b[j / 2][j % 2 * 2];
            if (T::MMA_K == 16) {
                multiply_add<half>(sum[i][j], a, b[0], b[1]);
            } else {
                multiply_add_8(sum[i][j], a[0], a[1], b[0]);
                multiply_add_8(sum[i][j], a[2], a[3], b[1]);
            }
        }
}

/** Writes a warp's sums, two neighbours at once where rows of C allow it. */
template <typename T>
__device__ inline void write_sums(const struct gemm_args &args, int row, int column,
                                  const float sum[T::FRAGMENTS_M][2 * T::FRAGMENTS_N][4])
{
    int lane = (int)threadIdx.x % WARP, pairs = args.ldc % 2 == 0 && (uintptr_t)args.c % 8 == 0;
    row += lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2 * T::FRAGMENTS_M; i++) {
        int y = row + i * CHUNK;
        if (y >= args.m) break;
        float *c = (float *)args.c + (size_t)y * (size_t)args.ldc;
#pragma unroll
        for (int j = 0; j < 2 * T::FRAGMENTS_N; j++) {
            int x = column + j * CHUNK;
            const float *s = &sum[i / 2][j][i % 2 * 2];
            if (pairs && x + 1 < args.n)
                *(float2 *)&c[x] = make_float2(s[0], s[1]);
            else
                for (int h = 0; h < 2; h++)
                    if (x + h < args.n) c[x + h] = s[h];
        }
    }
}

/* ---- the kernel ----------------------------------------------------------------------------------------- */

/** What a thread needs to know of the stages: bytes from their begin, but for addresses in device memory. */
struct thread_work {
    int to_a, to_b;              // its first chunks' places in a stage
    const half *from_a, *from_b; // where they come from in the next step to be copied
    size_t jump_a, jump_b;       // elements between two of its chunks
    int whole;                   // how many steps, from the first one on, copy tiles that lie inside
};

template <typename T>
__device__ inline struct thread_work find_thread_work(const struct work &work, int stages)
{
    struct coord own_a = thread_chunk<T::K>(), own_b = thread_chunk<T::N>();
    int inside = T::M <= work.a.rows - work.tile.row && T::N <= work.b.cols - work.tile.column;
    return {(int)chunk_place<T::K / CHUNK>(own_a.row, own_a.column / CHUNK),
            T::A_BYTES + (int)chunk_place<T::N / CHUNK>(own_b.row, own_b.column / CHUNK),
            chunk_address<T::K>(work.a, work.tile.row, work.ahead * T::K),
            chunk_address<T::N>(work.b, work.ahead * T::K, work.tile.column),
            T::THREADS * CHUNK / T::K * work.a.leading,
            T::THREADS * CHUNK / T::N * work.b.leading,
            stages > 1 && inside && work.a.aligned && work.b.aligned ? work.a.cols / T::K : 0};
}

/** The tiles of the first steps, a group of copies each. */
template <typename T> __device__ inline void begin(char *stages, const struct work &work)
{
    for (int step = 0; step < work.ahead; step++) {
        fill_edge<T>(stages + step * T::STAGE_BYTES, work, step);
        __pipeline_commit();
    }
}

/** All steps of a tile of C, whose first stages are being filled; @p a and @p b are the lane's places in a stage. */
template <typename T>
__device__ inline void multiply_steps(float sum[T::FRAGMENTS_M][2 * T::FRAGMENTS_N][4], char *stages,
                                      int count, const struct work &work, uint32_t a, uint32_t b)
{
    struct thread_work own = find_thread_work<T>(work, count);
    struct fragments<T> f[2];
    int single = count == 1, end = count * T::STAGE_BYTES, now = 0, next = single ? 0 : (int)T::STAGE_BYTES,
        fill = end - T::STAGE_BYTES;
    uint32_t base = shared_address(stages);
    wait_for_oldest(work.ahead);
    __syncthreads(); // everybody's copies of the first tiles have landed
    load_fragments<T>(&f[0], base, a, b, 0);
#pragma unroll 1
    for (int step = 0; step < work.steps; step++) {
        int copied = step + work.ahead;
#pragma unroll
        for (int k = 0; k < T::STEPS; k++) {
            if (k < T::STEPS - 1) {
                load_fragments<T>(&f[(k + 1) % 2], base + (uint32_t)now, a, b, k + 1);
                if (copied < own.whole)
#pragma unroll
                    for (int portion = k; portion < T::PORTIONS; portion += T::STEPS - 1) {
                        copy_inside<T, T::M, T::K>(stages + fill + own.to_a, own.from_a, own.jump_a, portion);
                        copy_inside<T, T::K, T::N>(stages + fill + own.to_b, own.from_b, own.jump_b, portion);
                    }
            } else if (step + 1 < work.steps) {
                if (single) __syncthreads(); // everybody has the last fragments
                if (copied >= own.whole) fill_edge<T>(stages + fill, work, copied);
                __pipeline_commit(); // in any case: the waits count groups
                wait_for_oldest(work.ahead);
                __syncthreads(); // the next tiles have landed; everybody is done with these
                load_fragments<T>(&f[(k + 1) % 2], base + (uint32_t)next, a, b, 0);
            }
            multiply<T>(sum, f[k % 2]);
        }
        own.from_a += T::K, own.from_b += T::K * work.b.leading;
        fill = now, now = next, next = next + T::STAGE_BYTES < end ? next + (int)T::STAGE_BYTES : 0;
    }
}

/** Blocks stay on their SM and take tile after tile: the first stages of the next one are filled while C is written. */
template <typename T> __global__ void __launch_bounds__(T::THREADS, 1) product_kernel(struct gemm_args args)
{
    extern __shared__ __align__(128) char stages[]; // [args.stages][STAGE_BYTES]
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int row = warp / T::WARPS_N * T::WARP_M, column = warp % T::WARPS_N * T::WARP_N;
    uint32_t a = chunk_place<T::K / CHUNK>(row + lane % FRAGMENT, lane / FRAGMENT),
             b = chunk_place<T::N / CHUNK>(lane % FRAGMENT, column / CHUNK + lane / FRAGMENT);
    int tiles = divide_up(args.m, T::M) * divide_up(args.n, T::N);
    begin<T>(stages, work_of<T>(args, (int)blockIdx.x));
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        struct work work = work_of<T>(args, tile);
        float sum[T::FRAGMENTS_M][2 * T::FRAGMENTS_N][4] = {};
        multiply_steps<T>(sum, stages, args.stages, work, a, b);
        __syncthreads(); // everybody is done with the stages
        if (tile + (int)gridDim.x < tiles) begin<T>(stages, work_of<T>(args, tile + (int)gridDim.x));
        write_sums<T>(args, work.tile.row + row, work.tile.column + column, sum);
    }
}

template <typename T> static enum kernel_status launch(const struct gemm_args *args, cudaStream_t stream)
{
    int tiles = divide_up(args->m, T::M) * divide_up(args->n, T::N); // small ones: several blocks per SM
    int blocks = min(tiles, (T::M < 128 ? 4 : 1) * device_attribute(cudaDevAttrMultiProcessorCount)),
        bytes = args->stages * (int)T::STAGE_BYTES;
    if (cudaFuncSetAttribute(product_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    product_kernel<T><<<(unsigned)blocks, T::THREADS, (size_t)bytes, stream>>>(*args);
    return launch_status();
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum { FILL_PERCENT = 75 }; // of the SMs: from so many large tiles on those are taken
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > 4) return KERNEL_INVALID_CONFIG;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return launch<old_tile>(args, stream);
    int64_t blocks = (int64_t)divide_up(args->m, large_tile::M) * divide_up(args->n, large_tile::N);
    int64_t sms = device_attribute(cudaDevAttrMultiProcessorCount);
    if (blocks * 100 >= sms * FILL_PERCENT && args->stages * (int)large_tile::STAGE_BYTES <=
                                                  device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin))
        return launch<large_tile>(args, stream);
    return launch<small_tile>(args, stream);
}

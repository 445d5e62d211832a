/*
 * A correct solution of another shape, for a C of few tiles or few rows: one tile of 64 rows per block, and k split over two blocks
 * of a cluster where there are SMs for them. All else is the solution's work.
 *
 *     warps 0 to 3   multiply 64 x 128, 64 x 64 or 64 x 16; then the second block of a cluster sends its sums to the first, which
 *                    adds and writes
 *     warp 4         one thread loads slices of 64 of k, the first ones before the block's first barrier
 *
 * Up to 16 rows of C are the columns of a product with A and B exchanged: C^T = op(B)^T op(A)^T. A block runs its
 * code once: it is short, and what is seldom needed stands apart.
 */
// covered-by: shape and number of SMs choose the tile and how many blocks share k, never layouts
#include "hopper_gemm.h"

#define hopper_gemm_f16 other_hopper_gemm_f16
#define hopper_gemm_bf16 other_hopper_gemm_bf16
#include "../../../solutions/15_hopper_gemm/hopper_gemm.cu"
#undef hopper_gemm_f16
#undef hopper_gemm_bf16

enum {
    THIN = 16,       // columns of the narrowest tile
    LEAST_SLICES = 8 // of each of two blocks that share k
};

/** The kernel's arguments. If `swapped`, args are of the product that gives C^T: but for c and ldc, which are of C. */
struct few_product {
    CUtensorMap a, b;
    struct gemm_args args;
    int tiles_n, slices, split, swapped;
    int a_once, b_once; // whether one cluster alone loads an element of it
};

/** Sizes of a tile of 64 x COLUMNS. */
template <int COLUMNS, int LAYOUT> struct few_sizes {
    enum {
        B_LINES = LAYOUT & MN_MAJOR_B && COLUMNS < 64 ? 64 : COLUMNS, // a box is 64 elements wide
        SLICE_BYTES = BLOCK_BYTES + B_LINES * ROW_BYTES,
        RING_BYTES = (COLUMNS < 64 ? 100 : 170) * 1024, // thin tiles: two blocks per SM
        RING = RING_BYTES / SLICE_BYTES,
        ALL_SUMS = COLUMNS / 2,             // of a thread
        UNIT = COLUMNS < 64 ? COLUMNS : 64, // columns that are written together
        UNITS = COLUMNS / UNIT,
        UNIT_SUMS = UNIT / 2,                        // of a thread
        PART = UNITS > 1 ? 0 : GROUP_ROWS *UNIT * 4, // bytes of the other block's sums
        PARTS_AT = RING * SLICE_BYTES,
        MBARRIERS_AT = PARTS_AT + PART,
        FEW_BYTES = MBARRIERS_AT + (2 * RING + 1) * 8
    };
    static_assert(GROUP_ROWS * ROW_BYTES * UNITS <= PARTS_AT, "C goes out where the stages were");
};

/** What a block does: which tile, which slices. */
struct few_work {
    int rank, row, column, first, count;
};

template <int COLUMNS> __device__ inline struct few_work find_work(const struct few_product &p)
{
    int rank = (int)blockIdx.x % p.split, tile = (int)blockIdx.x / p.split;
    int first = rank * p.slices / p.split, last = (rank + 1) * p.slices / p.split;
    return {rank, tile / p.tiles_n * GROUP_ROWS, tile % p.tiles_n * COLUMNS, first, last - first};
}

/* ---- loads --------------------------------------------------------------------------------------------- */

/** tensor_load() of what nobody loads again: the L2 cache may give it up first. */
__device__ inline void tensor_load_once(void *shared, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    asm volatile("{\n"
                 ".reg .b64 policy;\n"
                 "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
                 "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], policy;\n"
                 "}"
                 :
                 : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

/** LINES lines of a slice, of which `once` says whether anybody else loads them. */
template <int LINES, int MN_MAJOR>
__device__ inline void load_operand(char *to, const CUtensorMap *map, int line, int k, uint64_t *full,
                                    int once)
{
    if (!once) return load_lines<LINES, MN_MAJOR, 1>(to, map, line, k, full);
    constexpr int BOX = MN_MAJOR ? 64 : LINES;
    for (int i = 0; i < LINES; i += BOX)
        tensor_load_once(to + i * ROW_BYTES, map, MN_MAJOR ? line + i : k, MN_MAJOR ? k : line + i, full);
}

/** Starts to load slice number @p i of the block's. */
template <int COLUMNS, int LAYOUT>
__device__ inline void load_slice(const struct few_product &p, const struct few_work &work, char *stage,
                                  uint64_t *full, int i)
{
    typedef struct few_sizes<COLUMNS, LAYOUT> size;
    int k = (work.first + i) * TILE_K;
    mbarrier_arrive_expect(full, size::SLICE_BYTES);
    load_operand<GROUP_ROWS, LAYOUT & MN_MAJOR_A>(stage, &p.a, work.row, k, full, p.a_once);
    load_operand<size::B_LINES, LAYOUT & MN_MAJOR_B>(stage + BLOCK_BYTES, &p.b, work.column, k, full,
                                                     p.b_once);
}

/* ---- products ------------------------------------------------------------------------------------------ */

/** D += A B, 64 x 16. */
template <int MN_MAJOR_A_, int MN_MAJOR_B_>
__device__ __forceinline__ void wgmma(float (&d)[8], uint64_t a, uint64_t b, half)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, %10, %11;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7])
                 : "l"(a), "l"(b), "n"(MN_MAJOR_A_), "n"(MN_MAJOR_B_));
}
template <int MN_MAJOR_A_, int MN_MAJOR_B_>
__device__ __forceinline__ void wgmma(float (&d)[8], uint64_t a, uint64_t b, __nv_bfloat16)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, %10, %11;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7])
                 : "l"(a), "l"(b), "n"(MN_MAJOR_A_), "n"(MN_MAJOR_B_));
}

/** Starts the products of the slice in @p stage, as a group. */
template <typename T, int LAYOUT, int SUMS>
__device__ __forceinline__ void multiply_stage(float (&sum)[SUMS], const char *stage)
{
    constexpr int STEP_A = (LAYOUT & MN_MAJOR_A ? MMA_K * ROW_BYTES : 2 * MMA_K) / 16;
    constexpr int STEP_B = (LAYOUT & MN_MAJOR_B ? MMA_K * ROW_BYTES : 2 * MMA_K) / 16;
    uint64_t a = tile_descriptor(shared_address(stage), BLOCK_BYTES);
    uint64_t b = tile_descriptor(shared_address(stage) + BLOCK_BYTES, BLOCK_BYTES);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < TILE_K / MMA_K; k++)
        wgmma<(LAYOUT & MN_MAJOR_A) != 0, (LAYOUT & MN_MAJOR_B) != 0>(sum, a + k * STEP_A, b + k * STEP_B,
                                                                      T());
    wgmma_commit();
}

/** All slices of the block, as the other warp loads them. */
template <typename T, int COLUMNS, int LAYOUT, int SUMS>
__device__ inline void multiply_loaded(float (&sum)[SUMS], char *shared, uint64_t *full, uint64_t *empty,
                                       int count)
{
    typedef struct few_sizes<COLUMNS, LAYOUT> size;
    struct ring ring = {0, 0};
    int last = 0;
    for (int i = 0; i < count; i++, advance<size::RING>(&ring)) {
        mbarrier_wait(&full[ring.stage], ring.parity);
        multiply_stage<T, LAYOUT>(sum, shared + ring.stage * size::SLICE_BYTES);
        wgmma_wait<1>(); // that of the slice before is complete
        if (i > 0 && threadIdx.x == 0) mbarrier_arrive(&empty[last]);
        last = ring.stage;
    }
    wgmma_wait<0>();
}

/** The same slices, copied by the threads that multiply: for matrices that TMA does not take. */
template <typename T, int COLUMNS, int SUMS>
__device__ inline void multiply_copied(float (&sum)[SUMS], char *stage, const struct few_product &p,
                                       const struct few_work &work)
{
    const struct gemm_args &x = p.args;
    const uint16_t *a = (const uint16_t *)x.a + (x.trans_a ? (size_t)work.row : (size_t)work.row * x.lda);
    const uint16_t *b =
        (const uint16_t *)x.b + (x.trans_b ? (size_t)work.column * x.ldb : (size_t)work.column);
    for (int k = work.first * TILE_K; k < (work.first + work.count) * TILE_K; k += TILE_K) {
        copy_lines<GROUP_ROWS>(stage, a + (x.trans_a ? (size_t)k * x.lda : (size_t)k), x.trans_a, x.lda,
                               x.m - work.row, x.k - k);
        copy_lines<COLUMNS>(stage + BLOCK_BYTES, b + (x.trans_b ? (size_t)k : (size_t)k * x.ldb), !x.trans_b,
                            x.ldb, x.n - work.column, x.k - k);
        async_proxy_fence();
        named_barrier(1, WARPGROUP); // all of it is there
        multiply_stage<T, 0>(sum, stage);
        wgmma_wait<0>(); // the warpgroup's product is complete: its stage may be overwritten
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/** This thread has made what the cluster's other blocks may reach; nothing that it stored has to be seen. */
__device__ inline void cluster_ready(void)
{
    asm volatile("barrier.cluster.arrive.relaxed;" : : : "memory");
}
/** This thread reaches no other block from here on. */
__device__ inline void cluster_leave(void)
{
    asm volatile("barrier.cluster.arrive.release;" : : : "memory");
}
/** And so do all threads of the cluster: what each said before is true. */
__device__ inline void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}

/** Four floats to the same place in block @p rank, whose mbarrier counts the bytes. */
__device__ inline void send(const float4 *place, uint64_t *barrier, int rank, const float *x)
{
    asm volatile("{\n"
                 ".reg .b32 there, bar;\n"
                 "mapa.shared::cluster.u32 there, %0, %2;\n"
                 "mapa.shared::cluster.u32 bar, %1, %2;\n"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                 "[there], {%3, %4, %5, %6}, [bar];\n"
                 "}"
                 :
                 : "r"(shared_address(place)), "r"(shared_address(barrier)), "r"(rank), "f"(x[0]), "f"(x[1]),
                   "f"(x[2]), "f"(x[3])
                 : "memory");
}

/** The sums of block 1 go to block 0, which adds them. */
template <typename SIZE>
__device__ inline void add_parts(float (&sum)[SIZE::ALL_SUMS], char *shared, uint64_t *arrived, int rank)
{
    float4 *part = (float4 *)(shared + SIZE::PARTS_AT) + threadIdx.x;
    if (rank == 0) mbarrier_wait(arrived, 0);
#pragma unroll
    for (int i = 0; i < SIZE::ALL_SUMS; i += 4, part += WARPGROUP) {
        if (rank > 0) {
            send(part, arrived, 0, &sum[i]);
        } else {
            sum[i] += part->x, sum[i + 1] += part->y, sum[i + 2] += part->z, sum[i + 3] += part->w;
        }
    }
}

/** alpha times sums of a tile of UNIT columns, plus beta times what C holds. */
template <typename T, int SUMS>
__device__ inline void scale_unit(const struct few_product &p, int swapped, int row, int column, float *sum)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    row += warp * 16 + lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < SUMS; i++) sum[i] *= p.args.alpha;
    if (__builtin_expect(p.args.beta == 0.0f, 1)) return;
    const uint16_t *c = (const uint16_t *)p.args.c;
    size_t down = swapped ? 1 : (size_t)p.args.ldc, right = swapped ? (size_t)p.args.ldc : 1;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        int y = row + i / 2 % 2 * 8, x = column + i / 4 * 8 + i % 2;
        if (y < p.args.m && x < p.args.n)
            sum[i] += p.args.beta * unpack_element<T>(c[y * down + x * right], 0);
    }
}

/** As store_matrices(), each matrix transposed. */
__device__ inline void store_matrices_transposed(void *row, const uint32_t x[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(row)), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
}

/** A unit to rows of C in shared memory, 128 bytes each, swizzled: 64 rows of UNIT columns, or if swapped UNIT rows of 64. */
template <typename T, int SUMS> __device__ inline void write_unit(char *buffer, const float *sum, int swapped)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < SUMS; i += 8) { // 16 x 16: rows 0-7 and 8-15, then 8 columns on
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = pack_elements<T>(sum[i + 2 * j], sum[i + 2 * j + 1]);
        if (swapped)
            store_matrices_transposed(
                buffer + swizzled(2 * i + lane / 16 * 8 + lane % 8, warp * 32 + lane / 8 % 2 * 16), x);
        else
            store_matrices(buffer + swizzled(warp * 16 + lane % 16, i * 4 + lane / 16 * 16), x);
    }
}

/** Rows of C from shared memory to device memory, EACH elements at a time. */
template <int ROWS, int COLUMNS, int EACH>
__device__ inline void copy_pieces(const struct few_product &p, const char *buffer, int row, int column,
                                   int m, int n)
{
    uint16_t *c = (uint16_t *)p.args.c;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ROWS * COLUMNS / EACH; i += WARPGROUP) {
        int x = i % (COLUMNS / EACH) * EACH, y = i / (COLUMNS / EACH);
        if (row + y >= m || column + x >= n) continue;
        const char *from = buffer + swizzled(y, 2 * x);
        uint16_t *to = c + (size_t)(row + y) * p.args.ldc + column + x;
        if (EACH == 8)
            *(uint4 *)to = *(const uint4 *)from;
        else
            *to = *(const uint16_t *)from;
    }
}

/** The same: 16 bytes per thread where rows begin and end at multiples of 16 bytes. */
template <int ROWS, int COLUMNS>
__device__ inline void copy_rows(const struct few_product &p, const char *buffer, int row, int column, int m,
                                 int n)
{
    if (__builtin_expect(n % 8 == 0 && p.args.ldc % 8 == 0 && (uintptr_t)p.args.c % 16 == 0, 1))
        copy_pieces<ROWS, COLUMNS, 8>(p, buffer, row, column, m, n);
    else
        copy_pieces<ROWS, COLUMNS, 1>(p, buffer, row, column, m, n);
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** One block, one tile and its part of k. */
template <typename T, int COLUMNS, int LAYOUT, int BY_HAND>
__global__ void __launch_bounds__(BY_HAND ? WARPGROUP : WARPGROUP + 32, COLUMNS < 64 ? 2 : 1)
    few_kernel(const __grid_constant__ struct few_product p)
{
#if HOPPER_CODE
    typedef struct few_sizes<COLUMNS, LAYOUT> size;
    extern __shared__ __align__(1024) char shared[];
    uint64_t *full = (uint64_t *)(shared + size::MBARRIERS_AT), *empty = full + size::RING,
             *arrived = empty + size::RING;
    struct few_work work = find_work<COLUMNS>(p);
    int early = min(work.count, (int)size::RING);
    if (threadIdx.x == (BY_HAND ? 0 : WARPGROUP)) {
        for (int i = 0; i < size::RING; i++) mbarrier_init(&full[i], 1), mbarrier_init(&empty[i], 1);
        mbarrier_init(arrived, 1);
        mbarrier_init_fence();
        if (size::UNITS == 1 && p.split > 1) mbarrier_arrive_expect(arrived, work.rank == 0 ? size::PART : 0);
        for (int i = 0; !BY_HAND && i < early; i++)
            load_slice<COLUMNS, LAYOUT>(p, work, shared + i * size::SLICE_BYTES, &full[i], i);
    }
    __syncthreads(); // the mbarriers are there
    if (size::UNITS == 1 && p.split > 1) cluster_ready();
    if (threadIdx.x >= WARPGROUP) {
        struct ring ring = {0, 0}; // the first round is loaded: its stages are to become empty
        for (int i = early; threadIdx.x == WARPGROUP && i < work.count; i++, advance<size::RING>(&ring)) {
            mbarrier_wait(&empty[ring.stage], ring.parity);
            load_slice<COLUMNS, LAYOUT>(p, work, shared + ring.stage * size::SLICE_BYTES, &full[ring.stage],
                                        i);
        }
        if (size::UNITS == 1 && p.split > 1) cluster_wait(), cluster_leave();
        return;
    }
    float sum[size::ALL_SUMS];
#pragma unroll
    for (int i = 0; i < size::ALL_SUMS; i++) sum[i] = 0.0f;
    if (BY_HAND)
        multiply_copied<T, COLUMNS>(sum, shared, p, work);
    else
        multiply_loaded<T, COLUMNS, LAYOUT>(sum, shared, full, empty, work.count);
    wgmma_hold(sum);
    if (size::UNITS == 1 && p.split > 1) {
        cluster_wait(); // the mbarriers of all blocks are there
        add_parts<size>(sum, shared, arrived, work.rank);
        cluster_leave();
    }
    int swapped = COLUMNS == THIN && p.swapped;
#pragma unroll
    for (int u = 0; work.rank == 0 && u < size::UNITS; u++) {
        char *buffer = shared + u * GROUP_ROWS * ROW_BYTES; // where stages were
        int row = work.row, column = work.column + u * size::UNIT;
        scale_unit<T, size::UNIT_SUMS>(p, swapped, row, column, &sum[u * size::UNIT_SUMS]);
        write_unit<T, size::UNIT_SUMS>(buffer, &sum[u * size::UNIT_SUMS], swapped);
        named_barrier(1, WARPGROUP); // the whole unit is written
        if (swapped)
            copy_rows<size::UNIT, GROUP_ROWS>(p, buffer, column, row, p.args.n, p.args.m);
        else
            copy_rows<GROUP_ROWS, size::UNIT>(p, buffer, row, column, p.args.m, p.args.n);
    }
    if (size::UNITS == 1 && p.split > 1)
        cluster_wait(); // nobody sends to the shared memory of a block that has ended
#endif
}

/* ---- entry points -------------------------------------------------------------------------------------- */

template <typename T, int COLUMNS, int LAYOUT, int BY_HAND>
static enum kernel_status launch_few(struct few_product *p, cudaStream_t stream)
{
    typedef struct few_sizes<COLUMNS, LAYOUT> size;
    const struct gemm_args &x = p->args;
    int sms = device_attribute(cudaDevAttrMultiProcessorCount), tiles_m = divide_up(x.m, GROUP_ROWS);
    p->tiles_n = divide_up(x.n, COLUMNS);
    int tiles = tiles_m * p->tiles_n;
    p->split = size::UNITS == 1 && tiles <= sms / 2 && p->slices >= 2 * LEAST_SLICES ? 2 : 1;
    p->a_once = p->tiles_n == 1, p->b_once = tiles_m == 1;
    CUtensorMapDataType type =
        x.dtype_in == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    if (!BY_HAND && p->slices > 0 &&
        !(tensor_map(&p->a, type, x.a, x.trans_a ? x.k : x.m, x.trans_a ? x.m : x.k, x.lda, 64) &&
          tensor_map(&p->b, type, x.b, x.trans_b ? x.n : x.k, x.trans_b ? x.k : x.n, x.ldb,
                     LAYOUT & MN_MAJOR_B ? TILE_K : COLUMNS)))
        return KERNEL_CUDA_ERROR;
    launch_in_clusters(few_kernel<T, COLUMNS, LAYOUT, BY_HAND>, tiles * p->split,
                       BY_HAND ? WARPGROUP : WARPGROUP + 32, size::FEW_BYTES, p->split, stream, *p);
    return launch_status();
}

/** Finds the kernel of a layout. */
template <typename T, int COLUMNS>
static enum kernel_status launch_few_layout(struct few_product *p, cudaStream_t stream)
{
    const struct gemm_args &x = p->args;
    if (p->slices > 0 && !(is_for_tma(x.a, x.lda) && is_for_tma(x.b, x.ldb)))
        return launch_few<T, COLUMNS, 0, 1>(p, stream);
    if (x.trans_a && !x.trans_b) return launch_few<T, COLUMNS, MN_MAJOR_A + MN_MAJOR_B, 0>(p, stream);
    if (x.trans_a) return launch_few<T, COLUMNS, MN_MAJOR_A, 0>(p, stream);
    if (!x.trans_b) return launch_few<T, COLUMNS, MN_MAJOR_B, 0>(p, stream);
    return launch_few<T, COLUMNS, 0, 0>(p, stream);
}

/** The product that gives C^T. */
static struct gemm_args exchanged(const struct gemm_args &x)
{
    struct gemm_args y = x;
    y.m = x.n, y.a = x.b, y.lda = x.ldb, y.trans_a = !x.trans_b;
    y.n = x.m, y.b = x.a, y.ldb = x.lda, y.trans_b = !x.trans_a;
    return y;
}

/** Takes what is thin, and a C whose tiles of 64 columns, or else of 128, each get an SM: that is no worse than fewer, larger ones. */
template <typename T>
static enum kernel_status few_gemm(const struct gemm_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    double sms = device_attribute(cudaDevAttrMultiProcessorCount);
    int thin = min(args->m, args->n) <= THIN;
    double rows = divide_up(args->m, GROUP_ROWS), narrow = rows * divide_up(args->n, 64),
           wide = rows * divide_up(args->n, 128);
    if (args->dtype_in != dtype || args->dtype_out != dtype ||
        device_attribute(cudaDevAttrComputeCapabilityMajor) != 9 || (!thin && wide > sms))
        return gemm<T>(args, dtype, stream);
    struct few_product p = {};
    p.swapped = args->m <= THIN && args->m < args->n;
    p.args = p.swapped ? exchanged(*args) : *args;
    p.slices = args->alpha != 0.0f ? divide_up(args->k, TILE_K) : 0;
    if (thin) return launch_few_layout<T, THIN>(&p, stream);
    if (narrow <= sms) return launch_few_layout<T, 64>(&p, stream);
    return launch_few_layout<T, 128>(&p, stream);
}

enum kernel_status hopper_gemm_f16(const struct gemm_args *args, cudaStream_t stream)
{
    return few_gemm<half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_gemm_bf16(const struct gemm_args *args, cudaStream_t stream)
{
    return few_gemm<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

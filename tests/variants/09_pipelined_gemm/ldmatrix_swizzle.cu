/*
 * A correct solution of another shape: where C is made of whole large tiles and rows begin at multiples of 16 bytes, ldmatrix loads
 * fragments and rows of a tile have no pad: chunk i of row r lies at i ^ r % 8. The first step is the one that may be short of k, so
 * that the loop asks nothing. All else is the solution's work.
 *
 *     a row of A in shared memory      8 chunks of 16 bytes: eight rows of ldmatrix meet no bank twice
 *     a row of B                       32 chunks; ldmatrix.trans hands out columns
 *
 * A copy of a whole row takes 4 wavefronts, not 10.5, so that shared memory no longer is what bounds the kernel.
 */
// covered-by: extents, alignment, SMs and stages choose between two kernels
#include "pipelined_gemm.h"

#define pipelined_gemm other_pipelined_gemm
#include "../../../solutions/09_pipelined_gemm/pipelined_gemm.cu"
#undef pipelined_gemm

#include "shared_address.h"
#include "warp_matrix.h"

enum {
    ROW_A = LARGE_K * 2, // bytes
    ROW_B = LARGE_N * 2,
    A_BYTES = LARGE_M * ROW_A,
    STAGE_BYTES = A_BYTES + LARGE_K * ROW_B,
    SWIZZLED_THREADS = large_tile::THREADS,
    COPIES_A = LARGE_M * LARGE_K / CHUNK / SWIZZLED_THREADS, // of a thread and tile
    COPIES_B = LARGE_K * LARGE_N / CHUNK / SWIZZLED_THREADS,
    DOWN_A = SWIZZLED_THREADS / (ROW_A / 16), // rows from one copy of a thread to its next
    DOWN_B = SWIZZLED_THREADS / (ROW_B / 16),
    STEPS = LARGE_K / FRAGMENT
};
static_assert(DOWN_A % 8 == 0 && DOWN_B % 8 == 0, "all rows of a thread have the same swizzle");

/** What a warp multiplies in a fragment step: 64 x 16 of A, 16 x 64 of B. */
struct swizzled_fragments {
    uint32_t a[4][4], b[4][4];
};

/** Where a thread copies from and to, and where a lane's rows of fragments begin in a stage: bytes. */
struct swizzled_places {
    const half *from_a, *from_b;
    uint32_t to_a, to_b, row_a, row_b;
};

__device__ inline void copy_chunk_at(uint32_t to, const half *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
#endif
}

/** Copies the first tiles, which have @p depth of k: zeros after that. */
__device__ inline void copy_first(const struct swizzled_places &at, char *stage, const struct gemm_args &args,
                                  int depth)
{
    const int x_a = (int)threadIdx.x % (ROW_A / 16) * CHUNK, y_b = (int)threadIdx.x / (ROW_B / 16);
#pragma unroll
    for (int i = 0; i < COPIES_A; i++)
        copy_16_bytes(stage + at.to_a + i * DOWN_A * ROW_A, at.from_a + (size_t)(i * DOWN_A) * args.lda,
                      x_a < depth);
#pragma unroll
    for (int i = 0; i < COPIES_B; i++)
        copy_16_bytes(stage + at.to_b + i * DOWN_B * ROW_B, at.from_b + (size_t)(i * DOWN_B) * args.ldb,
                      y_b + i * DOWN_B < depth);
}

/** Begins a quarter of the copies of the next tiles, to the stage at @p stage. */
__device__ __forceinline__ void copy_quarter(const struct swizzled_places &at, uint32_t stage,
                                             const struct gemm_args &args, int quarter)
{
#pragma unroll
    for (int i = quarter * COPIES_A / STEPS; i < (quarter + 1) * COPIES_A / STEPS; i++)
        copy_chunk_at(stage + at.to_a + i * DOWN_A * ROW_A, at.from_a + (size_t)(i * DOWN_A) * args.lda);
#pragma unroll
    for (int i = quarter * COPIES_B / STEPS; i < (quarter + 1) * COPIES_B / STEPS; i++)
        copy_chunk_at(stage + at.to_b + i * DOWN_B * ROW_B, at.from_b + (size_t)(i * DOWN_B) * args.ldb);
}

/** Loads the fragments of fragment step @p step of the stage at @p stage. */
__device__ __forceinline__ void load_swizzled(struct swizzled_fragments *f, const struct swizzled_places &at,
                                              uint32_t stage, int step)
{
#pragma unroll
    for (int i = 0; i < 4; i++) // two chunks along k: step turns the same bits as the swizzle
        load_matrices(f->a[i], stage + (at.row_a ^ step * 32) + i * FRAGMENT * ROW_A);
#pragma unroll
    for (int j = 0; j < 4; j++)
        load_matrices_transposed(f->b[j], stage + (at.row_b ^ j * 32) + step * FRAGMENT * ROW_B);
}

__device__ __forceinline__ void multiply_swizzled(float (&sum)[4][8][4], const struct swizzled_fragments &f)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            multiply_add<half>(sum[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
}

/** One block, one whole tile of C; STAGES stages. The order is the solution's: the barrier before the last fragment step. */
template <int STAGES>
__global__ void __launch_bounds__(SWIZZLED_THREADS, 1) swizzled_kernel(struct gemm_args args)
{
    extern __shared__ float4 shared_memory[];
    const uint32_t first = shared_address(shared_memory), end = first + STAGES * STAGE_BYTES;
    const struct coord tile = block_tile<large_tile>(args, (int)blockIdx.x), warp = warp_origin<large_tile>();
    const int thread = (int)threadIdx.x, lane = thread % WARP, steps = divide_up(args.k, LARGE_K);
    const int y_a = thread / (ROW_A / 16), x_a = thread % (ROW_A / 16);
    const int y_b = thread / (ROW_B / 16), x_b = thread % (ROW_B / 16);
    struct swizzled_places at;
    at.from_a = (const half *)args.a + (size_t)(tile.row + y_a) * args.lda + x_a * CHUNK;
    at.from_b = (const half *)args.b + (size_t)y_b * args.ldb + tile.column + x_b * CHUNK;
    at.to_a = y_a * ROW_A + (x_a ^ y_a % 8) * 16;
    at.to_b = A_BYTES + y_b * ROW_B + (x_b ^ y_b % 8) * 16;
    at.row_a = (warp.row + lane % 16) * ROW_A + (lane / 16 ^ lane % 8) * 16;
    at.row_b = A_BYTES + lane % 16 * ROW_B + warp.column * 2 + (lane / 16 ^ lane % 8) * 16;

    uint32_t now = first, fill = first;
    const int depth = args.k - (steps - 1) * LARGE_K; // of the first step
    copy_first(at, (char *)shared_memory, args, depth);
    __pipeline_commit();
    at.from_a += depth, at.from_b += (size_t)depth * args.ldb, fill += STAGE_BYTES;
    int copied = 1;
    for (; copied < STAGES - 1; copied++, fill += STAGE_BYTES) {
        for (int q = 0; q < STEPS && copied < steps; q++) copy_quarter(at, fill, args, q);
        __pipeline_commit();
        at.from_a += LARGE_K, at.from_b += (size_t)LARGE_K * args.ldb;
    }
    float sum[4][8][4] = {};
    struct swizzled_fragments f[2];
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads(); // everybody's copies of the first tiles have landed
    load_swizzled(&f[0], at, now, 0);
#pragma unroll 1
    for (int step = 0; step < steps; step++, copied++) {
        const uint32_t next = now + STAGE_BYTES < end ? now + STAGE_BYTES : first;
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            if (s + 1 < STEPS) {
                load_swizzled(&f[(s + 1) % 2], at, now, s + 1);
            } else {
                __pipeline_wait_prior(STAGES - 2); // the next step's group
                __syncthreads(); // everybody's has landed; everybody is done with this step's stage
                if (step + 1 < steps) load_swizzled(&f[0], at, next, 0);
            }
            if (s + 1 < STEPS && copied < steps) {
                copy_quarter(at, fill, args, s);
                if (s == STEPS - 2) copy_quarter(at, fill, args, STEPS - 1);
            }
            if (s == STEPS - 2) __pipeline_commit(); // an empty group past the last step: waits count groups
            multiply_swizzled(sum, f[s % 2]);
        }
        at.from_a += LARGE_K, at.from_b += (size_t)LARGE_K * args.ldb;
        fill = now, now = next;
    }
    const int row = tile.row + warp.row + lane / 4, column = tile.column + warp.column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) { // eight rows each
        float *c = (float *)args.c + (size_t)(row + i * 8) * args.ldc + column;
#pragma unroll
        for (int j = 0; j < 8; j++)
            *(float2 *)(c + j * 8) = make_float2(sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
    }
}

template <int STAGES>
static enum kernel_status launch_swizzled(const struct gemm_args *args, cudaStream_t stream)
{
    int blocks = args->m / LARGE_M * (args->n / LARGE_N), bytes = STAGES * STAGE_BYTES;
    if (cudaFuncSetAttribute(swizzled_kernel<STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    swizzled_kernel<STAGES><<<(unsigned)blocks, SWIZZLED_THREADS, (size_t)bytes, stream>>>(*args);
    return launch_status();
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    int whole = args->m % LARGE_M == 0 && args->n % LARGE_N == 0 && args->k % CHUNK == 0 &&
                args->lda % CHUNK == 0 && args->ldb % CHUNK == 0 && args->ldc % 2 == 0 &&
                (uintptr_t)args->a % 16 == 0 && (uintptr_t)args->b % 16 == 0 && (uintptr_t)args->c % 8 == 0;
    if (!whole || args->stages < 3 || args->stages > MAX_STAGES || large_tiles_pay(args) != 1 ||
        device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
        return other_pipelined_gemm(args, stream);
    return args->stages == 3 ? launch_swizzled<3>(args, stream) : launch_swizzled<4>(args, stream);
}
